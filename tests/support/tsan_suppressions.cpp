// What the thread sanitizer cannot see. Reference counts inside of libstdc++, which is not built
// with it: an exception that a future hands from one thread to another, and the frame of a
// coroutine whose future is waited for, look like races. Asio's reference counts: the fence before
// the last owner destroys what they count is none to the sanitizer.
extern "C" char const* __tsan_default_suppressions();
extern "C" char const* __tsan_default_suppressions()
{
    return "race:std::__exception_ptr::exception_ptr::_M_release\n"
           "race:boost::asio::co_spawn\n"
           "race:ref_count_down\n";
}
