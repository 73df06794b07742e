//! Hostile clients and backends over real connections: a test for each row of SECURITY.md's table that is about inputs. What is
//! pure code has its rows beside it in `src/`.

mod answers;
mod args;
mod fuzz;
mod messages;
mod raw;
mod tools;
