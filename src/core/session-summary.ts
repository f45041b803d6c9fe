/**
 * - `working`: a run is under way, in a process that holds the lease
 * - `waiting`: a call waits for a person
 * - `interrupted`: a run was not finished, because its process died or left it; a run without a prompt continues it
 * - `failed`: the last run ended with an error
 * - `parked`: no run may be started until the session is unparked
 * - `idle`: none of these
 */
export type SessionStatus = 'working' | 'waiting' | 'interrupted' | 'idle' | 'failed' | 'parked'

/** Why a process should continue a session that no process works on: its owner died, its run was interrupted, a message waits, or a person answered. */
export type Attention = 'owner_died' | 'interrupted' | 'mail' | 'answered'

/** What embedders and people set about a session. */
export interface SessionDetails {
  /** Default: the beginning of the first prompt. */
  readonly title?: string
  readonly tags?: readonly string[]
  readonly tenant?: string
  /** What the session is for, in a word of the embedder. */
  readonly kind?: string
  /** The folder that the session works in. */
  readonly folder?: string
}

/** What a store knows about a session without reading its log. */
export interface SessionSummary extends SessionDetails {
  readonly id: string
  readonly head: number
  readonly parent?: string
  readonly tags: readonly string[]
  readonly status: SessionStatus
  readonly attention?: Attention
  /** A living process holds the lease of the session: that process works on the session, or writes to it. */
  readonly isHeld?: true
  /** When the first and the last entry were written. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Turns and tool calls that were written, including those that a rewind took out of the conversation. */
  readonly turns: number
  readonly calls: number
  /** Input and output tokens of all model calls. */
  readonly tokens: number
  readonly cost: number
  /** The approximate size of its entries. */
  readonly bytes: number
  /** The number of the last checkpoint entry, whose `from` says where reading may begin. */
  readonly checkpoint?: number
  /**
   * Crashes for which this session may be to blame: its process died while it held several sessions, and the run of this one had made
   * no progress. Set to 0 when a run begins, unless there is a count already; absent once a run has made progress or ended without a
   * crash.
   */
  readonly suspicions?: number
}

/** Which sessions to list. A field that is absent excludes none. */
export interface SessionQuery {
  readonly status?: SessionStatus | readonly SessionStatus[]
  /** Only sessions that need attention. */
  readonly attention?: true
  /** Only sessions that have all these tags. */
  readonly tags?: readonly string[]
  readonly tenant?: string
  readonly kind?: string
  readonly folder?: string
  /** Only the children of this session; `null` for sessions that are no children. */
  readonly parent?: string | null
  /** Only ids that begin with this. */
  readonly prefix?: string
  /** Only sessions that were last written before this time. */
  readonly updatedBefore?: number
  /** `updated` (the default) and `created`: newest first; `id`: ascending by UTF-16 units. */
  readonly order?: 'updated' | 'created' | 'id'
  /** At most so many; default 50, at most 1000. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly cursor?: string
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[]
  /** The cursor of the next page; absent if this is the last one. */
  readonly next?: string
}
