//! JSON text without loss: it is checked, compared and searched as text, never rounded or re-ordered.
