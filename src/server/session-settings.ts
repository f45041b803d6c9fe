import type { SecurityMode } from '../authority/rules/settings.ts'
import { checkedAs, isRecord } from '../core/is-record.ts'
import type { Session, SessionSummary } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { JsonSchema } from './route.ts'

/** What clients chose for one session. What is absent is up to the host. */
export interface SessionSettings {
  readonly model?: { readonly provider: string; readonly model: string }
  readonly thinking?: ThinkingLevel
  readonly mode?: SecurityMode
  readonly profile?: string
}

/** A change of them; `null` takes a choice back. */
export type SettingsChange = { readonly [Name in keyof SessionSettings]?: SessionSettings[Name] | null }

const name = { type: 'string', minLength: 1, maxLength: 200 }

/** The schema of each setting. */
export const settingSchemas: Readonly<Record<keyof SessionSettings, JsonSchema>> = {
  model: {
    type: 'object',
    additionalProperties: false,
    required: ['provider', 'model'],
    properties: { provider: name, model: name },
  },
  thinking: { type: 'string', enum: ['off', 'minimal', 'low', 'medium', 'high', 'adaptive'] },
  mode: { type: 'string', enum: ['plan', 'ask', 'allowlist', 'yolo'] },
  profile: name,
}

/** The owner of the state in the log. */
const owner = 'settings'

/**
 * The settings that clients chose, kept in the log of each session. The mode `yolo` is kept here alone: an import, a copy or a
 * restart must not lead to it.
 */
export class ChosenSettings {
  /** When each session that is in the mode `yolo` was made: another one may get its name. */
  readonly #yolo = new Map<string, number>()

  of({ id, log }: Session, { createdAt }: Pick<SessionSummary, 'createdAt'>): SessionSettings {
    const kept = log.transcript.states.get(owner)
    const { mode, ...others } = isRecord(kept) ? checkedAs<SessionSettings>(kept) : {}
    if (this.#yolo.get(id) === createdAt) return { ...others, mode: 'yolo' }
    return mode === undefined || mode === 'yolo' ? others : { ...others, mode }
  }

  /** What would be chosen after a change. */
  after(session: Session, summary: SessionSummary, change: SettingsChange): SessionSettings {
    return checkedAs(withoutNulls({ ...this.of(session, summary), ...change }))
  }

  /** Resolves once the change is durable. Rejects with SessionBusyError if another process has the session. */
  async change(session: Session, { createdAt }: SessionSummary, { mode, ...others }: SettingsChange): Promise<void> {
    const kept = session.log.transcript.states.get(owner)
    const isYolo = mode === 'yolo'
    const all = { ...(isRecord(kept) && kept), ...others, ...(mode !== undefined && !isYolo && { mode }) }
    await session.setState(owner, withoutNulls(all))
    if (isYolo) this.#yolo.set(session.id, createdAt)
    else if (mode !== undefined) this.#yolo.delete(session.id)
  }
}

const withoutNulls = (all: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
