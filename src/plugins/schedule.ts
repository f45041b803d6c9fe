/** When an agent is woken, and with which message. */
export interface Schedule {
  readonly id: string
  readonly agentId: string
  readonly name?: string
  readonly when: ScheduleTime
  /** The message to the agent. */
  readonly message: string
  /** Default true. */
  readonly enabled?: boolean
  readonly activeHours?: ActiveHours
  /** It ends after this number of runs. */
  readonly maxRuns?: number
  /** Removed after its first run. */
  readonly deleteAfterRun?: boolean
  /** An alarm and a heartbeat are schedules too. Default `task`. */
  readonly kind?: 'task' | 'alarm' | 'heartbeat'
  /** Of a heartbeat: a digest of the definition that it was made from. It is replaced when that changes. */
  readonly madeFrom?: string
  /** In ms since the epoch. Intervals count from here. */
  readonly createdAt: number
}

export type ScheduleTime =
  /** At least 60 seconds. */
  | { readonly type: 'interval'; readonly everySeconds: number }
  /** An ISO time, with an offset or `Z`. */
  | { readonly type: 'at'; readonly at: string; readonly repeatEveryMinutes?: number }
  /** Five fields, or six with seconds first. `timeZone` as in `Europe/Berlin`; default: that of the machine. */
  | { readonly type: 'cron'; readonly expression: string; readonly timeZone?: string }

/** `HH:MM`, without `to` itself; hours from the evening to the morning include midnight. `24:00` is midnight too. */
export interface ActiveHours {
  readonly from: string
  readonly to: string
  /** As in `Europe/Berlin`; default: that of the machine. */
  readonly timeZone?: string
}

/** A schedule with its progress. */
export interface ScheduleState extends Schedule {
  readonly runs: number
  readonly lastRunAt?: number
  /** Absent if it is switched off or over. */
  readonly nextRunAt?: number
}

export type NewSchedule = Omit<Schedule, 'id' | 'createdAt'> & { readonly id?: string }

/** `null` removes a field. */
export interface ScheduleChange {
  readonly name?: string | null
  readonly when?: ScheduleTime
  readonly message?: string
  readonly enabled?: boolean
  readonly activeHours?: ActiveHours | null
  readonly maxRuns?: number | null
  readonly deleteAfterRun?: boolean
}

interface ChangeOptions {
  /** A change with the same key is made once: for callers that may have to repeat a call. */
  readonly key?: string
}

/** The schedules of a store, for any process. A change resolves once it cannot be lost. */
export interface ScheduleBook {
  /** A schedule with the same id is replaced. Rejects an invalid schedule, and names the correct form. */
  add(schedule: NewSchedule, options?: ChangeOptions): Promise<ScheduleState>
  list(agentId?: string): Promise<readonly ScheduleState[]>
  update(id: string, change: ScheduleChange, options?: ChangeOptions): Promise<ScheduleState>
  /** False if there was none. */
  remove(id: string, options?: ChangeOptions): Promise<boolean>
}

/** An agent has one alarm; a new one replaces it. */
export function alarmIdOf(agentId: string): string {
  return `alarm:${agentId}`
}
