// A client on rhea: node client.js URL MODE ADDRESS COUNT SIZE (see ../README.md).
'use strict';

const rhea = require('rhea');

if (process.argv.length !== 7) {
    console.error('usage: client.js amqp://USER:PASSWORD@HOST:PORT send|recv|both ADDRESS COUNT SIZE');
    process.exit(2);
}
const [, , text, mode, address] = process.argv;
const count = Number(process.argv[5]);
const body = Buffer.alloc(Number(process.argv[6]), 'x');
const url = new URL(text);
const sends = mode !== 'recv';
const receives = mode !== 'send';
let sent = 0, accepted = 0, received = 0, failed = false;

const container = rhea.create_container({ id: 'rhea' });
const connection = container.connect({
    host: url.hostname, port: Number(url.port), username: url.username, password: url.password, reconnect: false,
});

function fail(what, why) {
    console.error('rhea: %s: %s', what, why);
    failed = true;
    process.exitCode = 1;
    connection.close();
}
const done = () => (!sends || accepted === count) && (!receives || received >= count);
const finish = () => { if (done()) connection.close(); };

container.on('connection_open', () => {
    if (sends) connection.open_sender(address);
    if (receives) connection.open_receiver({ source: address, credit_window: 10 });
});
container.on('sendable', (context) => {
    while (context.sender.sendable() && sent < count) {
        context.sender.send({ body: rhea.message.data_section(body) });
        ++sent;
    }
});
container.on('accepted', () => { ++accepted; finish(); });
container.on('message', () => { ++received; finish(); });
container.on('connection_error', (context) => fail('close', context.connection.error));
container.on('session_error', (context) => fail('end', context.session.error));
container.on('sender_error', (context) => fail('detach', context.sender.error));
container.on('receiver_error', (context) => fail('detach', context.receiver.error));
container.on('rejected', () => fail('a message', 'rejected'));
container.on('disconnected', (context) => {
    if (context.error) fail('transport', context.error);
    console.log('sent=%d accepted=%d received=%d', sent, accepted, received);
    process.exit(failed || !done() ? 1 : 0);
});
container.on('connection_close', () => {
    console.log('sent=%d accepted=%d received=%d', sent, accepted, received);
    process.exitCode = failed || !done() ? 1 : 0;
});
