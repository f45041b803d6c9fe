import type { Decision } from '../core/authority.ts'
import type { ThinkingLevel } from '../core/thinking.ts'

/** The name of a model with that of its provider. */
export interface RemoteModelChoice {
  readonly provider: string
  readonly model: string
}

/** What clients chose for one session. What is absent is up to the host. */
export interface ChosenRemoteSettings {
  readonly model?: RemoteModelChoice
  readonly thinking?: ThinkingLevel
  readonly mode?: 'plan' | 'ask' | 'allowlist' | 'yolo'
  readonly profile?: string
}

/** A change of the settings of a session; `null` takes a choice back. */
export type RemoteSettingsChange = { readonly [Name in keyof ChosenRemoteSettings]?: ChosenRemoteSettings[Name] | null }

/** The settings of a session. */
export interface RemoteSessionSettings {
  readonly chosen: ChosenRemoteSettings
  /** What a run uses now. */
  readonly now: Omit<ChosenRemoteSettings, 'model'> & {
    readonly model?: RemoteModelChoice & { readonly contextWindow?: number }
    readonly folder?: string
  }
  /** The profiles that can be chosen. */
  readonly profiles: readonly string[]
}

/** The files that a session changed, sorted by path. */
export interface RemoteFiles {
  /** `log`: from what tools logged about their changes; `whyNoSnapshots` says why. */
  readonly from: 'snapshots' | 'log'
  readonly whyNoSnapshots?: string
  readonly files: readonly {
    readonly path: string
    readonly kind: 'added' | 'changed' | 'deleted'
    /** Lines; absent if it is no text. */
    readonly added?: number
    readonly removed?: number
  }[]
}

/** The change of one file, as a unified diff. */
export interface RemoteDiff {
  readonly path: string
  readonly diff: string
  /** The end is left out. */
  readonly isCut: boolean
}

/** How far to go back. */
export interface RemoteRollbackRequest {
  /** The last entry that stays: for a message, the one before its `from`. */
  readonly to: number
  /** Default: both, or the conversation if the files were not kept. */
  readonly what?: 'conversation' | 'files' | 'both'
  /** Files that others changed since are restored too. */
  readonly force?: boolean
}

/** What going back would do. */
export interface RemoteSessionRollbackPlan {
  /** How many turns would leave the conversation. */
  readonly turns: number
  readonly files?: {
    readonly restore: readonly string[]
    readonly delete: readonly string[]
    /** Files that are kept, and why. */
    readonly conflicts: readonly { readonly path: string; readonly why: string }[]
  }
  readonly whyNoFiles?: string
}

/** What a rollback, or its undo, has done. */
export interface RemoteSessionRollback {
  readonly turns: number
  readonly files?: {
    readonly restored: readonly string[]
    readonly deleted: readonly string[]
    readonly conflicts: readonly { readonly path: string; readonly why: string }[]
    readonly failed: readonly string[]
  }
}

/** What can replace a part of a text, best first. */
export interface RemoteCompletions {
  readonly from: number
  readonly to: number
  readonly items: readonly { readonly text: string; readonly label?: string; readonly detail?: string }[]
}

/** A command that can be run in a session. */
export interface RemoteCommand {
  /** Without the slash. */
  readonly name: string
  readonly summary: string
  /** As a list shows it; absent if it takes none. */
  readonly argument?: string
}

/** What a command has done. */
export interface RemoteCommandResult {
  /** For the person. */
  readonly text: string
  /** If it became a message. */
  readonly sent?: { readonly clientKey: string; readonly head: number }
}

/** What fills the context of the next model call, in estimated tokens. */
export interface RemoteContext {
  readonly total: number
  /** Of the model, if it is known. */
  readonly limit?: number
  readonly parts: readonly { readonly name: string; readonly kind: string; readonly tokens: number }[]
  /** By kind; `system` has the tools too. */
  readonly counts: {
    readonly system: number
    readonly user: number
    readonly assistant: number
    readonly toolResults: number
  }
  /** What the call will cost in dollars, if prices are known. */
  readonly forecast?: { readonly likely: number; readonly most: number }
}

/** Why a call was allowed, asked about or refused. */
export interface RemoteWhy {
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** As far as the audit of the host has it. */
  readonly decision?: Decision
  readonly approver?: string
  /** Why a person was asked. */
  readonly asked?: string
  readonly answer?: { readonly decision: 'allow' | 'deny' | 'expired'; readonly by?: string; readonly scope?: string }
  /** All of it in sentences. */
  readonly lines: readonly string[]
}

/** A place at which a phrase was found. */
export interface RemoteHit {
  readonly seq: number
  readonly where: 'user' | 'assistant' | 'thinking' | 'call' | 'result' | 'label'
  /** One line around the place. */
  readonly excerpt: string
}

/** A place in any session; `seq` is absent for a title. */
export interface RemoteSearchHit {
  readonly session: string
  readonly title?: string
  readonly updatedAt: number
  readonly seq?: number
  readonly where: RemoteHit['where'] | 'title'
  readonly excerpt: string
}

/** A session of a family of copies. */
export interface RemoteFork {
  readonly id: string
  readonly title: string
  readonly updatedAt: number
  /** The session that it was copied from, and the last entry that both share. */
  readonly origin?: { readonly session: string; readonly seq: number }
  readonly labels: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
}
