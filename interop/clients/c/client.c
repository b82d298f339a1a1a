/* A client on Qpid Proton-C's proactor: client URL MODE ADDRESS COUNT SIZE (see ../README.md). */
#include <proton/condition.h>
#include <proton/connection.h>
#include <proton/delivery.h>
#include <proton/event.h>
#include <proton/link.h>
#include <proton/message.h>
#include <proton/proactor.h>
#include <proton/sasl.h>
#include <proton/session.h>
#include <proton/terminus.h>
#include <proton/transport.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { credit = 10 };

static struct {
    char user[64], password[64], host[128], port[16];
    const char* address;
    bool sends, receives;
    int count, sent, accepted, received, status;
    size_t size, encoded_size, buffer_size;
    char* encoded;
    char* buffer; /* of the message that is coming in */
    size_t buffered;
} app;

static void fail(const char* what, const char* why)
{
    fprintf(stderr, "proton-c: %s: %s\n", what, why ? why : "?");
    app.status = 1;
}

static void encode_message(void)
{
    pn_message_t* m = pn_message();
    char* body = malloc(app.size);
    memset(body, 'x', app.size);
    pn_data_put_binary(pn_message_body(m), pn_bytes(app.size, body));
    app.encoded_size = app.size + 256;
    app.encoded = malloc(app.encoded_size);
    if (pn_message_encode(m, app.encoded, &app.encoded_size) != 0)
        fail("encoding", pn_error_text(pn_message_error(m)));
    free(body);
    pn_message_free(m);
}

static void open_all(pn_connection_t* c)
{
    pn_connection_set_container(c, "proton-c");
    pn_connection_open(c);
    pn_session_t* s = pn_session(c);
    pn_session_open(s);
    if (app.sends) {
        pn_link_t* l = pn_sender(s, "out");
        pn_terminus_set_address(pn_link_target(l), app.address);
        pn_link_open(l);
    }
    if (app.receives) {
        pn_link_t* l = pn_receiver(s, "in");
        pn_terminus_set_address(pn_link_source(l), app.address);
        pn_link_open(l);
        pn_link_flow(l, credit);
    }
}

static void send_some(pn_link_t* l)
{
    while (pn_link_is_sender(l) && app.sent < app.count && pn_link_credit(l) > 0) {
        char tag[16];
        snprintf(tag, sizeof tag, "%d", app.sent++);
        pn_delivery(l, pn_dtag(tag, strlen(tag)));
        pn_link_send(l, app.encoded, app.encoded_size);
        pn_link_advance(l);
    }
}

static void on_delivery(pn_delivery_t* d)
{
    pn_link_t* l = pn_delivery_link(d);
    if (pn_link_is_sender(l)) {
        if (!pn_delivery_updated(d))
            return;
        if (pn_delivery_remote_state(d) == PN_ACCEPTED)
            ++app.accepted;
        else
            fail("a message", "not accepted");
        pn_delivery_settle(d);
    } else if (pn_delivery_readable(d)) {
        size_t const n = pn_delivery_pending(d);
        if (app.buffered + n > app.buffer_size)
            app.buffer = realloc(app.buffer, app.buffer_size = (app.buffered + n) * 2);
        ssize_t const got = pn_link_recv(l, app.buffer + app.buffered, n);
        app.buffered += got > 0 ? (size_t)got : 0;
        if (pn_delivery_partial(d))
            return;
        if (app.buffered < app.size)
            fail("a message", "too short");
        app.buffered = 0;
        ++app.received;
        pn_delivery_update(d, PN_ACCEPTED);
        pn_delivery_settle(d);
        pn_link_flow(l, 1);
    }
}

static bool done(void)
{
    return app.status != 0
           || ((!app.sends || app.accepted == app.count)
               && (!app.receives || app.received >= app.count));
}

static void check_condition(pn_condition_t* c, const char* what)
{
    if (pn_condition_is_set(c)) {
        fail(what, pn_condition_get_name(c));
        fail(what, pn_condition_get_description(c));
    }
}

/* Returns false at the end. */
static bool handle(pn_event_t* e)
{
    pn_connection_t* c = pn_event_connection(e);
    switch (pn_event_type(e)) {
    case PN_CONNECTION_INIT: open_all(c); break;
    case PN_CONNECTION_BOUND:
        pn_sasl_set_allow_insecure_mechs(pn_sasl(pn_event_transport(e)), true);
        break;
    case PN_LINK_FLOW: send_some(pn_event_link(e)); break;
    case PN_DELIVERY:
        on_delivery(pn_event_delivery(e));
        if (done())
            pn_connection_close(c);
        break;
    case PN_TRANSPORT_CLOSED:
        check_condition(pn_transport_condition(pn_event_transport(e)), "transport");
        break;
    case PN_CONNECTION_REMOTE_CLOSE:
        check_condition(pn_connection_remote_condition(c), "close");
        pn_connection_close(c);
        break;
    case PN_SESSION_REMOTE_CLOSE:
        check_condition(pn_session_remote_condition(pn_event_session(e)), "end");
        pn_connection_close(c);
        break;
    case PN_LINK_REMOTE_CLOSE:
    case PN_LINK_REMOTE_DETACH:
        check_condition(pn_link_remote_condition(pn_event_link(e)), "detach");
        pn_connection_close(c);
        break;
    case PN_PROACTOR_INACTIVE: return false;
    default: break;
    }
    return true;
}

int main(int argc, char** argv)
{
    if (argc != 6
        || sscanf(argv[1], "amqp://%63[^:]:%63[^@]@%127[^:]:%15[0-9]", app.user, app.password,
                  app.host, app.port) != 4) {
        fprintf(stderr, "usage: client amqp://USER:PASSWORD@HOST:PORT send|recv|both ADDRESS COUNT "
                        "SIZE\n");
        return 2;
    }
    app.sends = strcmp(argv[2], "recv") != 0;
    app.receives = strcmp(argv[2], "send") != 0;
    app.address = argv[3];
    app.count = atoi(argv[4]);
    app.size = (size_t)atol(argv[5]);
    encode_message();

    pn_proactor_t* p = pn_proactor();
    pn_connection_t* c = pn_connection();
    pn_connection_set_user(c, app.user);
    pn_connection_set_password(c, app.password);
    pn_connection_set_hostname(c, app.host);
    char where[256];
    pn_proactor_addr(where, sizeof where, app.host, app.port);
    pn_proactor_connect2(p, c, NULL, where);
    for (bool more = true; more;) {
        pn_event_batch_t* batch = pn_proactor_wait(p);
        for (pn_event_t* e; more && (e = pn_event_batch_next(batch));) more = handle(e);
        pn_proactor_done(p, batch);
    }
    pn_proactor_free(p);
    printf("sent=%d accepted=%d received=%d\n", app.sent, app.accepted, app.received);
    return done() ? app.status : 1;
}
