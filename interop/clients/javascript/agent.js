// The agent of interop pairings on rhea (see ../README.md).
'use strict';

const rhea = require('rhea');

const [, , text, mode, address] = process.argv;
const options = {
    to: '', count: '1', size: '0', credit: '100', snd: 'mixed', rcv: 'first', action: 'accept', idle: '0',
};
for (const argument of process.argv.slice(5)) {
    const at = argument.indexOf('=');
    options[argument.slice(0, at)] = argument.slice(at + 1);
}
const count = Number(options.count);
const url = new URL(text);
const modes = {
    snd_settle_mode: ['unsettled', 'settled', 'mixed'].indexOf(options.snd),
    rcv_settle_mode: ['first', 'second'].indexOf(options.rcv),
};
const say = (line) => process.stdout.write(line + '\n');
let sent = 0, done = 0, received = 0, cameSettled = 0, failed = false, closing = false;
const outcomes = {}, waiting = [], underWay = new Map();
let sender, receiver;

const container = rhea.create_container({ id: 'rhea' });
const connection = container.connect({
    host: url.hostname, port: Number(url.port), username: url.username, password: url.password, reconnect: false,
    idle_time_out: Number(options.idle) / 2 || undefined,
});

function report() {
    say('received=' + received + ' settled=' + cameSettled);
    say('outcomes ' + Object.keys(outcomes).sort().map((k) => k + '=' + outcomes[k]).join(' '));
    process.exitCode = failed ? 1 : 0;
}
function finish() {
    if (!closing) {
        closing = true;
        connection.close();
    }
}
function fail(what, why) {
    if (closing) return;
    console.error('rhea: %s: %s', what, why);
    failed = closing = true;
    connection.close();
    report();
    process.exit(1);
}
function outcome(name) {
    outcomes[name] = (outcomes[name] || 0) + 1;
    if (++done % 100 === 0) say('progress ' + done);
    if (done === count) finish();
}
function passOn() {
    while (waiting.length && sender.sendable()) {
        const [delivery, message] = waiting.shift();
        underWay.set(sender.send(message), delivery);
    }
}
function taken() {
    if (++done === count) finish();
    else if (received + receiver.credit < count) receiver.add_credit(1);
}

container.on('connection_open', () => {
    const manual = { credit_window: 0, autoaccept: false, autosettle: true };
    if (mode === 'echo') {
        sender = connection.open_sender(options.to);
        receiver = connection.open_receiver({ source: address, ...manual });
    } else if (mode === 'send') {
        sender = connection.open_sender({ target: address, ...modes });
    } else {
        receiver = connection.open_receiver({ source: address, ...manual, ...modes });
    }
});
container.on('receiver_open', () => {
    receiver.add_credit(Number(options.credit));
    if (mode === 'drain') receiver.drain_credit();
});
container.on('receiver_drained', finish);
container.on('sendable', () => {
    if (mode === 'echo') return passOn();
    while (sender.sendable() && sent < count) {
        const size = Number(options.size);
        sender.send({ body: size ? 'x'.repeat(size) : String(sent) });
        ++sent;
        if (options.snd === 'settled') outcome('settled');
    }
});
for (const name of ['accepted', 'rejected', 'released', 'modified']) {
    container.on(name, (context) => {
        if (mode !== 'echo') {
            if (!context.delivery.remote_settled) context.delivery.update(true);  // mode second: our turn
            return outcome(name);
        }
        const incoming = underWay.get(context.delivery);
        underWay.delete(context.delivery);
        if (name === 'accepted') incoming.accept();
        else incoming.reject({ condition: 'amqp:internal-error', description: 'its echo was ' + name });
        receiver.add_credit(1);
        passOn();
    });
}
container.on('message', (context) => {
    const delivery = context.delivery;
    if (mode === 'echo') {
        waiting.push([delivery, context.message]);
        return passOn();
    }
    ++received;
    cameSettled += delivery.remote_settled ? 1 : 0;
    if (mode === 'drain') return delivery.accept();
    if (options.action === 'hold') {
        if (received === count) say('ready');
        return;
    }
    if (!delivery.remote_settled) {
        if (options.action === 'accept') delivery.accept();
        else if (options.action === 'release') delivery.release();
        else if (options.action === 'modify') delivery.modified({ delivery_failed: true });
        else delivery.reject({ condition: 'amqp:not-allowed', description: 'by the test' });
        if (options.rcv === 'second') return;  // until the sender has settled
    }
    taken();
});
container.on('settled', (context) => {
    if (mode === 'recv' && options.rcv === 'second' && context.receiver) taken();
});
container.on('connection_error', (context) => fail('close', context.connection.error));
container.on('session_error', (context) => fail('end', context.session.error));
container.on('sender_error', (context) => fail('detach', context.sender.error));
container.on('receiver_error', (context) => fail('detach', context.receiver.error));
container.on('disconnected', (context) => fail('transport', context.error || 'disconnected'));
container.on('connection_close', () => {
    report();
    process.exit(process.exitCode);
});
