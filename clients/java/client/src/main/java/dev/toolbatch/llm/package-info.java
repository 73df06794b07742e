/**
 * Between models and tools: a server's tools as models' APIs take them, and a model's calls
 * answered. No SDK is needed: these APIs' JSON goes in and comes out.
 */
package dev.toolbatch.llm;
