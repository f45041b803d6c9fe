import type { Chat, ModelChoice } from '../chat/chat.ts'
import type { ChatCommand } from '../chat/command.ts'
import type { SessionPage, SessionQuery } from '../core/store.ts'
import type { ClientServices } from './client-execution.ts'
import type { McpServer } from './protocol.ts'

/** Where the protocol gets sessions and agents from: the command line. */
export interface AcpHost {
  readonly version: string
  /** A chat whose agents work in this folder. Nothing is opened before `chat.open()`. */
  createChat(setup: SessionSetup): Chat
  /** Sessions that a person would see in a list. */
  sessions(query: Pick<SessionQuery, 'folder' | 'cursor'>): Promise<SessionPage>
  /** Whether the store has a session that this program may continue. */
  has(sessionId: string): Promise<boolean>
  /** Deletes a session with all that belongs to it. One that is not there is no error. */
  delete(sessionId: string): Promise<void>
  /** The title of a session for a screen: on one line, without secrets. Empty if it has none. */
  titleOf(session: { readonly title?: string }): string
  /** The same for a stored one. */
  titleOfStored(sessionId: string): Promise<string>
  models(): Promise<readonly ModelChoice[]>
  /** The commands that a person can type in this folder. */
  commands(folder: string): Promise<readonly ChatCommand[]>
  /** Rejects if no model is set up. */
  checkLogin(): Promise<void>
  /** An error in words for a person, and whether a login would help. */
  explain(error: unknown): { readonly message: string; readonly needsLogin?: boolean }
  /** Tells the person at the terminal, if there is one. */
  report(text: string): void
}

export interface SessionSetup {
  /** Absolute, and a folder. */
  readonly cwd: string
  readonly mcpServers: readonly McpServer[]
  readonly services: ClientServices
  /** The client can show a question with a text as its answer. */
  readonly canAsk: boolean
}
