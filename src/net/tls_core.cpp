// OpenSSL over a byte stream.
#include "net/tls_core.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include <cassert>

namespace sluice::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t first_octets_max = 8;

std::size_t index(readiness r) noexcept { return static_cast<std::size_t>(r); }

bool would_block(error_code ec) noexcept
{
    return ec == asio::error::would_block || ec == asio::error::try_again;
}

}  // namespace

tls_core::tls_core(std::unique_ptr<byte_stream> inner, tls_context_ptr context, std::string host)
    : inner_{std::move(inner)},
      context_{std::move(context)},
      host_{std::move(host)},
      ssl_{SSL_new(context_->raw())}
{
    auto* const bio = ssl_ ? BIO_new(method()) : nullptr;
    if (!bio)
        throw std::bad_alloc{};
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_app_data(ssl_.get(), this);
    if (server()) {
        SSL_set_accept_state(ssl_.get());
        SSL_set_verify(ssl_.get(), SSL_get_verify_mode(ssl_.get()), verified);
    } else {
        SSL_set_connect_state(ssl_.get());
        want_host();
    }
}

/// The name goes out in the clear (SNI), an address does not [RFC 6066, 3]; either is checked, and
/// against the names that are made for that: a subject's common name is none [RFC 9525, 2].
void tls_core::want_host()
{
    error_code no_address;
    auto const address = asio::ip::make_address(host_, no_address);
    auto* const raw = ssl_.get();
    auto name = host_;
    if (no_address && name.size() > 1 && name.ends_with('.'))  // an empty one would allow any
        name.pop_back();
    if (!no_address && address.is_v6()) {
        auto six = address.to_v6();
        six.scope_id(0);  // this machine's own business, in no certificate
        name = six.to_string();
    }
    if (no_address)
        SSL_set_tlsext_host_name(raw, name.c_str());
    if (!context_->verifies())
        return SSL_set_verify(raw, SSL_VERIFY_NONE, nullptr);
    SSL_set_verify(raw, SSL_VERIFY_PEER, verified);
    SSL_set_hostflags(raw,
                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    auto const set = no_address ? SSL_set1_host(raw, name.c_str())
                                : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(raw), name.c_str());
    if (set != 1)  // without it, any name would do
        throw std::bad_alloc{};
}

// ---- for OpenSSL

BIO_METHOD const* tls_core::method()
{
    static auto const made = [] {
        auto* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice stream");
        if (m) {
            BIO_meth_set_read(m, bio_read);
            BIO_meth_set_write(m, bio_write);
            BIO_meth_set_ctrl(m, bio_control);
        }
        return std::unique_ptr<BIO_METHOD, openssl_free<BIO_meth_free>>{m};
    }();
    return made.get();
}

int tls_core::bio_read(BIO* b, char* into, int size)
{
    auto& self = *static_cast<tls_core*>(BIO_get_data(b));
    BIO_clear_retry_flags(b);
    if (self.ended_ || self.io_)
        return self.ended_ ? 0 : -1;
    error_code ec;
    auto const n = self.inner_->read_some(asio::buffer(into, static_cast<std::size_t>(size)), ec);
    if (!self.shaken_ && self.first_octets_.size() < first_octets_max)
        self.first_octets_.append(into, std::min(n, first_octets_max));
    if (n > 0)
        return static_cast<int>(n);
    if (would_block(ec)) {
        BIO_set_retry_read(b);
        return -1;
    }
    self.ended_ = !ec || ec == asio::error::eof;
    if (!self.ended_)
        self.io_ = ec;
    return self.ended_ ? 0 : -1;
}

int tls_core::bio_write(BIO* b, char const* from, int size)
{
    auto& self = *static_cast<tls_core*>(BIO_get_data(b));
    BIO_clear_retry_flags(b);
    error_code ec;
    auto const n = self.inner_->write_some(asio::buffer(from, static_cast<std::size_t>(size)), ec);
    if (n > 0)
        return static_cast<int>(n);
    if (!ec || would_block(ec))
        BIO_set_retry_write(b);
    else
        self.io_ = ec;
    return -1;
}

long tls_core::bio_control(BIO* b, int what, long, void*)
{
    auto const& self = *static_cast<tls_core const*>(BIO_get_data(b));
    if (what == BIO_CTRL_EOF)
        return self.ended_ ? 1 : 0;
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

/// Keeps the first fault: OpenSSL knows the certificate at this moment only.
int tls_core::verified(int good, X509_STORE_CTX* chain)
{
    auto* const ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<tls_core*>(SSL_get_app_data(ssl));
    if (good == 0 && !self.fault_)
        self.fault_ =
            make_fault(X509_STORE_CTX_get_error(chain), X509_STORE_CTX_get_current_cert(chain));
    return good;
}

// ---- the handshake

tls_core::progress tls_core::shake()
{
    ERR_clear_error();
    auto const returned = SSL_do_handshake(ssl_.get());
    if (returned == 1) {
        shaken_ = true;
        first_octets_ = {};
        return progress::done;
    }
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return progress::wants_read;
    case SSL_ERROR_WANT_WRITE: return progress::wants_write;
    default: return progress::failed;
    }
}

handshake_fault tls_core::take_fault()
{
    handshake_fault out;
    out.server = server();
    out.peer = server() ? inner_->peer() : "'" + host_ + "' (" + inner_->peer() + ")";
    out.wanted_name = host_;
    out.verify = std::exchange(fault_, std::nullopt);
    out.openssl = ERR_peek_last_error();
    out.first_octets = first_octets_;
    out.ended = ended_;
    out.io = io_;
    ERR_clear_error();
    return out;
}

stream_security tls_core::security() const
{
    auto out = inner_->security();
    out.encrypted = true;
    out.protocol = SSL_get_version(ssl_.get());
    out.cipher = SSL_get_cipher_name(ssl_.get());
    x509_ptr const peer{SSL_get1_peer_certificate(ssl_.get())};
    if (peer && context_->verifies() && SSL_get_verify_result(ssl_.get()) == X509_V_OK) {
        out.peer_subject = name_text(X509_get_subject_name(peer.get()));
        out.peer_common_name = common_name(peer.get());
    }
    return out;
}

// ---- octets

error_code tls_core::outcome(int returned, readiness& needs)
{
    switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ: needs = readiness::read; return asio::error::would_block;
    case SSL_ERROR_WANT_WRITE: needs = readiness::write; return asio::error::would_block;
    case SSL_ERROR_ZERO_RETURN: return asio::error::eof;
    case SSL_ERROR_SSL: {
        auto const why = tls_error(ERR_peek_last_error());
        ERR_clear_error();
        return why == tls_truncated() ? cut_off() : why;
    }
    default: return io_ ? io_ : cut_off();
    }
}

/// With TLS 1.3 a client is done before the server has looked at its certificate, and some servers
/// (Broker-J 10.1.0) then hang up without an alert.
error_code tls_core::cut_off() const noexcept
{
    return server() || read_any_ ? tls_truncated() : tls_dropped_at_once();
}

/// As many records as there are and fit, so that who gets less than it asked for may wait.
std::size_t tls_core::read_some(asio::mutable_buffer into, error_code& ec)
{
    ec = {};
    std::size_t all = 0;
    auto* const to = static_cast<char*>(into.data());
    dry_ = false;
    while (all < into.size() && !read_end_ && !closed_) {
        ERR_clear_error();
        std::size_t n = 0;
        auto const returned = SSL_read_ex(ssl_.get(), to + all, into.size() - all, &n);
        if (returned == 1) {
            all += n;
            read_any_ = true;
            continue;
        }
        ec = outcome(returned, read_needs_);
        dry_ = would_block(ec);
        if (!dry_)
            read_end_ = ec;
        break;
    }
    if (all > 0)
        ec = {};  // what ended it is told by the next call
    else if (read_end_ || closed_)
        ec = closed_ ? error_code{asio::error::operation_aborted} : read_end_;
    return all;
}

std::size_t tls_core::write_some(asio::const_buffer from, error_code& ec)
{
    ec = closed_ ? error_code{asio::error::operation_aborted} : write_end_;
    std::size_t all = 0;
    auto const* const data = static_cast<char const*>(from.data());
    while (all < from.size() && !ec) {
        ERR_clear_error();
        std::size_t n = 0;
        auto const returned = SSL_write_ex(ssl_.get(), data + all, from.size() - all, &n);
        if (returned == 1) {
            all += n;
            continue;
        }
        ec = outcome(returned, write_needs_);
        if (!would_block(ec))
            write_end_ = ec;
    }
    if (all > 0)
        ec = {};
    return all;
}

// ---- waiting

void tls_core::async_wait(readiness which, std::shared_ptr<stream_waiter> waiter)
{
    auto const reads = which == readiness::read;
    auto const at_once = closed_ || (reads ? !dry_ || read_end_ : bool{write_end_});
    if (at_once)
        return post_ready(which, std::move(waiter));
    wait(which, reads ? read_needs_ : write_needs_, std::move(waiter));
}

void tls_core::wait(readiness which, readiness needs, std::shared_ptr<stream_waiter> waiter)
{
    auto& s = slots_[index(which)];
    assert(!s.waiter);
    s = {std::move(waiter), needs, false};
    wait_inner(needs);
}

void tls_core::wait_inner(readiness needs)
{
    if (!std::exchange(waits_[index(needs)], true))
        inner_->async_wait(needs, shared_from_this());
}

void tls_core::post_ready(readiness which, std::shared_ptr<stream_waiter> waiter)
{
    slots_[index(which)] = {std::move(waiter), which, true};
    asio::post(inner_->get_executor(), [self = shared_from_this(), which] {
        auto& s = self->slots_[index(which)];
        s.posted = false;
        auto const w = std::exchange(s.waiter, nullptr);
        auto const aborted = error_code{asio::error::operation_aborted};
        w->on_ready(which, self->closed_ ? aborted : error_code{});
    });
}

void tls_core::on_ready(readiness which, error_code ec)
{
    waits_[index(which)] = false;
    if (flushing_ && which == readiness::write && !closed_ && !ec)
        flush_end();
    std::array<std::shared_ptr<stream_waiter>, 2> due;
    for (std::size_t i = 0; i < due.size(); ++i)
        if (slots_[i].waiter && !slots_[i].posted && slots_[i].needs == which)
            due[i] = std::exchange(slots_[i].waiter, nullptr);
    if (closed_)
        ec = asio::error::operation_aborted;
    for (auto const r : {readiness::read, readiness::write})
        if (due[index(r)])
            due[index(r)]->on_ready(r, ec);
}

// ---- the end

void tls_core::shutdown_write() noexcept
{
    if (closed_ || flushing_ || write_end_)
        return;
    write_end_ = asio::error::shut_down;
    flush_end();
}

/// close_notify, then the end of the stream underneath; after the room that it may have to wait
/// for. [RFC 8446, 6.1]
void tls_core::flush_end() noexcept
{
    flushing_ = false;
    auto const broken = read_end_ && read_end_ != asio::error::eof;
    ERR_clear_error();
    auto const returned = broken ? 0 : SSL_shutdown(ssl_.get());
    if (returned < 0 && SSL_get_error(ssl_.get(), returned) == SSL_ERROR_WANT_WRITE) {
        flushing_ = true;
        return wait_inner(readiness::write);
    }
    ERR_clear_error();
    inner_->shutdown_write();
}

void tls_core::close() noexcept
{
    closed_ = true;
    inner_->close();
}

void tls_core::reset() noexcept
{
    closed_ = true;
    inner_->reset();
}

}  // namespace sluice::net
