// What brokers understand in a receiver's source: filters, and subscriptions to topics.
#pragma once

#include <sluice/client/options.hpp>
#include <sluice/codec/value.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

/// Filters of a source, by the descriptors registered for them. [3.5.8]
///
///     receiver_options options;
///     options.source.filter = source_filters{.selector = "colour = 'green'"}.encoded();
///
/// A peer leaves out of its attach the filters that it does not apply; none of these is applied by
/// the node of this project.
struct SLUICE_EXPORT source_filters {
    /// `apache.org:selector-filter:string`: a condition in the language of JMS selectors.
    std::string selector{};
    /// `apache.org:no-local-filter:list`: nothing that came over this very connection.
    bool no_local = false;
    /// `apache.org:legacy-amqp-direct-binding:string`: the binding key at a direct exchange.
    std::string direct_binding{};
    /// `apache.org:legacy-amqp-topic-binding:string`: the pattern at a topic exchange.
    std::string topic_binding{};
    /// Others: name, and a described value.
    value_map others{};

    bool empty() const noexcept;
    /// The encoded map for terminus::filter; empty without a filter.
    bytes encoded() const;
};

/// A subscription to a topic that several receivers may share and that may outlive them, named as
/// Broker-J, ActiveMQ Artemis and the JMS clients do.
///
///     auto options = subscribe({.name = "audit", .durable = true});
///     auto receiver = session.open_receiver("news", options);
///
/// A durable one goes on without a receiver when the connection, the session or the last handle
/// goes; receiver::close() ends it for good. To end one nobody receives from, attach and close.
struct subscription {
    std::string name{};    ///< of the subscription; empty: one that ends with its link
    bool durable = false;  ///< messages are kept while nobody receives
    bool shared = false;   ///< each message goes to one of its receivers
    bool global = false;   ///< shared by all clients, not only those with this container-id
    /// Which receiver of the same container it is, for a link name of its own.
    unsigned receiver_number = 0;
};

/// `options` for a receiver of this subscription: link name, durability, expiry, capabilities.
SLUICE_EXPORT receiver_options subscribe(subscription const& s, receiver_options options = {});

}  // namespace sluice::client
