// A value or the error that kept it from being made; spelled as std::expected is.
#pragma once

#include <sluice/error.hpp>

#include <cassert>
#include <utility>
#include <variant>

namespace sluice {

/// Marks an error on its way into a `result`.
class unexpected {
public:
    explicit unexpected(std::error_code code) noexcept : code_{code} { assert(code); }
    explicit unexpected(sluice::error e) noexcept : unexpected{make_error_code(e)} {}
    std::error_code error() const noexcept { return code_; }

private:
    std::error_code code_;
};

/// Either a `T` or a `std::error_code`. Distinct objects: safe. Shared object: unsafe.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : state_{std::in_place_index<0>, std::move(value)} {}  // NOLINT: implicit
    result(unexpected e) : state_{std::in_place_index<1>, e.error()} {}    // NOLINT: implicit

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /// @pre has_value()
    T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    T const& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    T const* operator->() const noexcept { return std::get_if<0>(&state_); }

    /// The value. @throws std::system_error with error() if there is none.
    T& value() &
    {
        if (!has_value())
            throw std::system_error{error()};
        return **this;
    }
    T&& value() &&
    {
        if (!has_value())
            throw std::system_error{error()};
        return std::move(**this);
    }

    /// The error, or a code without error if there is a value.
    std::error_code error() const noexcept
    {
        auto const* const code = std::get_if<1>(&state_);
        return code ? *code : std::error_code{};
    }

private:
    std::variant<T, std::error_code> state_;
};

}  // namespace sluice
