// All of the client.
#pragma once

#include <sluice/client/body_stream.hpp>
#include <sluice/client/connection.hpp>
#include <sluice/client/container.hpp>
#include <sluice/client/delivery.hpp>
#include <sluice/client/error.hpp>
#include <sluice/client/listener.hpp>
#include <sluice/client/notifications.hpp>
#include <sluice/client/observer.hpp>
#include <sluice/client/options.hpp>
#include <sluice/client/outcome.hpp>
#include <sluice/client/receiver.hpp>
#include <sluice/client/sender.hpp>
#include <sluice/client/session.hpp>
#include <sluice/client/transaction.hpp>
#include <sluice/codec/message_writer.hpp>
