// Boost.JSON, compiled once here: Debian's libboost-dev has its sources, and not its library.
#include <boost/json/src.hpp>
