import type { Message } from '../../core/turn.ts'

/** A piece of the prompt. Pieces without a role join the text of the piece above them. */
export interface PromptNode {
  readonly id: string
  readonly caption?: string
  /** Default true. */
  enabled?: boolean
  /** Default, for a piece at the top: `system`. */
  role?: 'system' | 'user' | 'assistant'
  tags?: readonly string[]
  text?: string
  children?: PromptNode[]
  /** Where it comes from, for whoever edits prompts: ids from the top. */
  source?: readonly string[]
  /** The conversation stands here, in place of text. What is joined to this piece comes after it. */
  history?: readonly Message[]
}

/** What is left of a tree: texts with roles in their order, and the conversation where it belongs. */
export type FlatPrompt =
  | { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
  | { readonly role: 'history'; readonly messages: readonly Message[] }

/** One step of putting a prompt together. */
export interface PromptState {
  readonly step: 'plugin' | 'finalize' | 'flatten' | 'complete'
  /** 0 to 1. */
  readonly progress: number
  /** The plugin that has just had its say. */
  readonly plugin?: string
  readonly prompts: readonly PromptNode[]
  /** From `flatten` on. */
  readonly flat?: readonly FlatPrompt[]
  /** With `complete`. */
  readonly result?: PromptResult
}

/** What a model is sent: everything before the conversation, and the conversation with what stands around it. */
export interface PromptResult {
  readonly system: string
  readonly messages: readonly Message[]
}
