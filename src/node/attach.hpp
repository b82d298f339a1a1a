// What a link asks for, and what it gets. [2.6.3]
#pragma once

#include "node/peer.hpp"

namespace sluice::node::detail {

/// Answers the peer's attach: with an attach, or with one and a detach that says why not.
void attach_link(peer& p, engine::link& l);

}  // namespace sluice::node::detail
