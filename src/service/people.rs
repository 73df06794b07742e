//! The people of the configuration: who shows which token and may call what. Read again while the server runs.

use std::sync::Arc;

use super::tokens::{self, Tokens};
use crate::{config::Config, dispatch::ToolLists};

/// Why new agents and operators are not taken; those that were there before go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A token cannot be used.
    #[error(transparent)]
    Tokens(#[from] tokens::Error),
    /// Nobody would be asked for a token any more.
    #[error(
        "neither an agent nor an operator is left, so everybody could do everything: if that is meant, restart the server"
    )]
    Opened,
}

/// Agents and operators, as those who ask for tokens and look up tools see them.
#[derive(Debug)]
pub(crate) struct People {
    /// Who shows which token.
    pub(crate) tokens: Arc<Tokens>,
    /// What each agent may call.
    pub(crate) lists: Arc<ToolLists>,
}

impl People {
    /// The people of a configuration.
    pub(crate) fn new(config: &Config) -> Result<Self, tokens::Error> {
        let (agents, operators) = (&config.agents, &config.operators);
        let tokens = Arc::new(Tokens::read(agents, operators)?);
        Ok(Self { tokens, lists: Arc::new(ToolLists::new(agents, operators)) })
    }

    /// Takes those of another configuration, all or none of them.
    pub(crate) fn reload(&self, config: &Config) -> Result<(), Error> {
        let (agents, operators) = (&config.agents, &config.operators);
        let tokens = Tokens::read(agents, operators)?;
        if tokens.is_open() && !self.tokens.is_open() {
            return Err(Error::Opened);
        }
        // In this order nobody has more than one of the two configurations gives them, not even for a moment.
        self.lists.replace(agents, operators);
        self.tokens.replace(tokens);
        Ok(())
    }
}
