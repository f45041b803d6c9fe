import type { Message } from '../../core/turn.ts'

/** A node of the prompt tree. A node without a role joins the text of its parent. */
export interface PromptNode {
  readonly id: string
  readonly caption?: string
  /** Default true. */
  enabled?: boolean
  /** Default at the top of the tree: `system`. */
  role?: 'system' | 'user' | 'assistant'
  tags?: readonly string[]
  text?: string
  children?: PromptNode[]
  /** Its origin, for editors of prompts: ids from the top. */
  source?: readonly string[]
  /** The conversation, in place of a text. Texts that join this node come after it. */
  history?: readonly Message[]
}

/** The tree as a list: texts with roles, and the conversation in its place. */
export type FlatPrompt =
  | { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
  | { readonly role: 'history'; readonly messages: readonly Message[] }

/** The state after one step of building a prompt. */
export interface PromptState {
  readonly step: 'plugin' | 'finalize' | 'flatten' | 'complete'
  /** 0 to 1. */
  readonly progress: number
  /** The plugin that was called last. */
  readonly plugin?: string
  readonly prompts: readonly PromptNode[]
  /** From `flatten` on. */
  readonly flat?: readonly FlatPrompt[]
  /** With `complete`. */
  readonly result?: PromptResult
}

/** The request for the model: the system prompt, and the conversation with the texts around it. */
export interface PromptResult {
  readonly system: string
  readonly messages: readonly Message[]
}
