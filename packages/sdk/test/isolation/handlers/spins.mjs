// Never comes to its end, and leaves the thread no moment to say so.
for (;;);
