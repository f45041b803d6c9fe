import type { RemoteClient, SessionContentBlock } from '../libero.ts'

export type Mode = 'plan' | 'ask' | 'allowlist' | 'yolo'
export type Thinking = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'adaptive'

export interface SessionSettings {
  readonly chosen: {
    readonly provider?: string
    readonly model?: string
    readonly thinking?: Thinking
    readonly mode?: Mode
    readonly profile?: string
  }
  readonly now: {
    readonly provider?: string
    readonly model?: string
    readonly contextWindow?: number
    readonly thinking?: string
    readonly mode?: string
    readonly profile?: string
    readonly folder?: string
  }
  readonly profiles: readonly string[]
}

export interface ChangedFile {
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
  readonly added?: number
  readonly removed?: number
}

export interface RollbackPlan {
  readonly turns: number
  readonly files?: {
    readonly restore: readonly string[]
    readonly delete: readonly string[]
    readonly conflicts: readonly { readonly path: string; readonly why: string }[]
  }
  readonly whyNoFiles?: string
}

export type RollbackScope = 'conversation' | 'files' | 'both'

export interface Completions {
  readonly from: number
  readonly to: number
  readonly items: readonly { readonly text: string; readonly label?: string; readonly detail?: string }[]
}

export interface ContextUse {
  readonly total: number
  readonly limit?: number
  readonly parts: readonly { readonly name: string; readonly tokens: number }[]
  readonly counts: {
    readonly system: number
    readonly tools?: number
    readonly user: number
    readonly assistant: number
    readonly toolResults: number
  }
  readonly forecast?: { readonly likely: number; readonly most: number }
}

/** The routes of a session that the screen uses beside the log. */
export function sessionApi(client: RemoteClient, id: string) {
  const at = `/v1/sessions/${encodeURIComponent(id)}`
  const get = <T>(path: string, query?: object): Promise<T> =>
    client.request('GET', `${at}/${path}`, query ? { query } : {}) as Promise<T>
  const post = <T>(path: string, body: object = {}): Promise<T> =>
    client.request('POST', `${at}/${path}`, { body }) as Promise<T>
  return {
    settings: () => get<SessionSettings>('settings'),
    changeSettings: (changes: Readonly<Record<string, string | null>>) =>
      client.request('PATCH', `${at}/settings`, { body: changes }) as Promise<SessionSettings>,
    takeBack: (key: string) =>
      client.request('DELETE', `${at}/messages/${encodeURIComponent(key)}`) as Promise<{
        content: readonly SessionContentBlock[]
      }>,
    files: (after?: number) =>
      get<{ from: string; whyNoSnapshots?: string; files: readonly ChangedFile[] }>('files', { after }),
    fileDiff: (path: string, after?: number) =>
      get<{ path: string; diff: string; isCut: boolean }>('files/diff', { path, after }),
    planRollback: (to: number, what: RollbackScope) => get<RollbackPlan>('rollback', { to, what }),
    rollback: (to: number, what: RollbackScope, force?: boolean) =>
      post<{ turns: number }>('rollback', { to, what, ...(force && { force }) }),
    undoRollback: () => post<{ turns: number }>('rollback/undo'),
    completions: (text: string, caret: number) => get<Completions>('completions', { text, caret }),
    commands: () => get<{ commands: readonly { name: string; summary: string; argument?: string }[] }>('commands'),
    runCommand: (line: string) => post<{ text: string }>('commands', { line }),
    why: (callId: string) => get<{ lines: readonly string[] }>(`calls/${encodeURIComponent(callId)}/why`),
    context: (draft?: string) => get<ContextUse>('context', { draft }),
  }
}

export type SessionApi = ReturnType<typeof sessionApi>
