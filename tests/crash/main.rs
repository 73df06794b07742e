//! Nothing that finished is ever repeated: the real server is killed, and its tool backend, which lives in this process, keeps the
//! journal of what was done. docs/reliability.md says what is promised and how to run more of it.

#[path = "../it/backend/mod.rs"]
mod backend;
mod cases;
mod check;
mod checker;
mod client;
mod damage;
mod dice;
mod disk;
mod fold;
mod kills;
mod load;
mod points;
mod power;
mod process;
mod repeats;
#[cfg(feature = "seeded-bugs")]
mod seeded;
mod setting;
#[path = "../it/store_process/small_disk.rs"]
mod small_disk;
mod start;
