import type { ThinkingLevel } from '../core/thinking.ts'

/** The name of a model with that of its provider. */
export interface RemoteModel {
  readonly provider: string
  readonly model: string
}

/** What clients chose for one session. What is absent is up to the host. */
export interface ChosenRemoteSettings {
  readonly model?: RemoteModel
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
    readonly model?: RemoteModel & { readonly contextWindow?: number }
    readonly folder?: string
  }
  /** The profiles that can be chosen. */
  readonly profiles: readonly string[]
}
