// What a shared library of this project shows: everything else in it is hidden.
#pragma once

/// In front of each function that users call and is compiled into the library, and of each class
/// that has such members. Libraries are compiled with hidden visibility, so that what lacks it can
/// be called from within alone; docs/stability.md says what of it is stable.
#if defined(__GNUC__) || defined(__clang__)
#define SLUICE_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_EXPORT
#endif
