// The codec benchmark's work done by Proton-C, through its public functions.
#pragma once

#include "codec_work.hpp"

#include <proton/codec.h>
#include <proton/message.h>

namespace sluice::bench {

inline pn_bytes_t codec_pn(std::string_view text) { return pn_bytes(text.size(), text.data()); }

inline std::string_view codec_text(pn_bytes_t b) { return {b.start, b.size}; }

/// The performative as pn_data: what Proton's own encoder of performatives does is not public.
class proton_transfer_codec {
public:
    proton_transfer_codec() : data_{pn_data(16)} { encode(); }
    ~proton_transfer_codec() { pn_data_free(data_); }
    proton_transfer_codec(proton_transfer_codec const&) = delete;
    proton_transfer_codec& operator=(proton_transfer_codec const&) = delete;

    void encode()
    {
        pn_data_clear(data_);
        pn_data_put_described(data_);
        pn_data_enter(data_);
        pn_data_put_ulong(data_, 0x14);
        pn_data_put_list(data_);
        pn_data_enter(data_);
        pn_data_put_uint(data_, codec_transfer::handle);
        pn_data_put_uint(data_, codec_transfer::delivery_id);
        pn_data_put_binary(data_, pn_bytes(codec_transfer::tag.size(), codec_transfer::tag.data()));
        pn_data_put_uint(data_, codec_transfer::message_format);
        pn_data_put_bool(data_, true);
        pn_data_exit(data_);
        pn_data_exit(data_);
        size_ = pn_data_encode(data_, buffer_.data(), buffer_.size());
    }

    std::uint64_t decode()
    {
        pn_data_clear(data_);
        if (pn_data_decode(data_, buffer_.data(), static_cast<std::size_t>(size_)) != size_)
            return 0;
        codec_sum sum;
        pn_data_rewind(data_);
        pn_data_next(data_);
        pn_data_enter(data_);
        pn_data_next(data_);  // the descriptor
        pn_data_next(data_);
        pn_data_enter(data_);
        pn_data_next(data_);
        sum.add(pn_data_get_uint(data_));
        pn_data_next(data_);
        sum.add(pn_data_get_uint(data_));
        pn_data_next(data_);
        sum.add(codec_text(pn_data_get_binary(data_)));
        pn_data_next(data_);
        sum.add(pn_data_get_uint(data_));
        pn_data_next(data_);
        sum.add(pn_data_get_bool(data_));
        return sum.value;
    }

private:
    pn_data_t* data_;
    std::array<char, 128> buffer_{};
    ssize_t size_ = 0;
};

/// One pn_message that is cleared and used again: the way that Proton-C is quickest.
class proton_message_codec {
public:
    proton_message_codec() : message_{pn_message()} { encode(); }
    ~proton_message_codec() { pn_message_free(message_); }
    proton_message_codec(proton_message_codec const&) = delete;
    proton_message_codec& operator=(proton_message_codec const&) = delete;

    void encode()
    {
        using m = codec_message;
        pn_message_clear(message_);
        pn_message_set_durable(message_, true);
        pn_message_set_priority(message_, m::priority);
        pn_message_set_ttl(message_, m::ttl);
        pn_data_put_string(pn_message_id(message_), codec_pn(m::message_id));
        pn_message_set_address(message_, m::to.data());
        pn_message_set_subject(message_, m::subject.data());
        pn_message_set_reply_to(message_, m::reply_to.data());
        pn_data_put_string(pn_message_correlation_id(message_), codec_pn(m::correlation_id));
        pn_message_set_content_type(message_, m::content_type.data());
        pn_message_set_creation_time(message_, m::creation_time);
        auto* const map = pn_message_properties(message_);
        pn_data_put_map(map);
        pn_data_enter(map);
        pn_data_put_string(map, codec_pn("customer"));
        pn_data_put_string(map, codec_pn(m::customer));
        pn_data_put_string(map, codec_pn("items"));
        pn_data_put_int(map, m::items);
        pn_data_put_string(map, codec_pn("total"));
        pn_data_put_long(map, m::total);
        pn_data_put_string(map, codec_pn("express"));
        pn_data_put_bool(map, m::express);
        pn_data_put_string(map, codec_pn("weight"));
        pn_data_put_double(map, m::weight);
        pn_data_exit(map);
        pn_message_set_inferred(message_, true);
        pn_data_put_binary(pn_message_body(message_), codec_pn(m::payload()));
        size_ = buffer_.size();
        if (pn_message_encode(message_, buffer_.data(), &size_) != 0)
            size_ = 0;
    }

    std::uint64_t decode()
    {
        if (pn_message_decode(message_, buffer_.data(), size_) != 0)
            return 0;
        codec_sum sum;
        sum.add(pn_message_is_durable(message_));
        sum.add(pn_message_get_priority(message_));
        sum.add(pn_message_get_ttl(message_));
        auto* const id = first(pn_message_id(message_));
        sum.add(codec_text(pn_data_get_string(id)));
        sum.add(std::string_view{pn_message_get_address(message_)});
        sum.add(std::string_view{pn_message_get_subject(message_)});
        sum.add(std::string_view{pn_message_get_reply_to(message_)});
        auto* const correlation = first(pn_message_correlation_id(message_));
        sum.add(codec_text(pn_data_get_string(correlation)));
        sum.add(std::string_view{pn_message_get_content_type(message_)});
        sum.add(static_cast<std::uint64_t>(pn_message_get_creation_time(message_)));
        auto* const map = first(pn_message_properties(message_));
        pn_data_enter(map);
        auto const next = [&] {
            pn_data_next(map);
            sum.add(codec_text(pn_data_get_string(map)));
            pn_data_next(map);
            return map;
        };
        sum.add(codec_text(pn_data_get_string(next())));
        sum.add(static_cast<std::uint64_t>(pn_data_get_int(next())));
        sum.add(static_cast<std::uint64_t>(pn_data_get_long(next())));
        sum.add(pn_data_get_bool(next()));
        sum.add(static_cast<std::uint64_t>(pn_data_get_double(next())));
        sum.add(codec_text(pn_data_get_binary(first(pn_message_body(message_)))));
        return sum.value;
    }

private:
    static pn_data_t* first(pn_data_t* data)
    {
        pn_data_rewind(data);
        pn_data_next(data);
        return data;
    }

    pn_message_t* message_;
    std::array<char, 1024> buffer_{};
    std::size_t size_ = 0;
};

}  // namespace sluice::bench
