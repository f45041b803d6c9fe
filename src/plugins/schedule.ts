/** When an agent is woken, and with which words. */
export interface Schedule {
  readonly id: string
  readonly agentId: string
  readonly name?: string
  readonly when: ScheduleTime
  /** What the agent is told. */
  readonly message: string
  /** Default true. */
  readonly enabled?: boolean
  readonly activeHours?: ActiveHours
  /** Gone, or at rest, after so many. */
  readonly maxRuns?: number
  /** Removed after its first run. */
  readonly deleteAfterRun?: boolean
  /** Who made it; an alarm and a heartbeat are schedules too. Default `task`. */
  readonly kind?: 'task' | 'alarm' | 'heartbeat'
  /** Of a heartbeat: what its definition said when it was made, as a digest. When that says something else, so does this. */
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

/** `HH:MM`, `to` no longer within; from the evening to the morning goes over midnight. `24:00` is midnight too. */
export interface ActiveHours {
  readonly from: string
  readonly to: string
  /** As in `Europe/Berlin`; default: that of the machine. */
  readonly timeZone?: string
}

/** A schedule, and how far it has come. */
export interface ScheduleState extends Schedule {
  readonly runs: number
  readonly lastRunAt?: number
  /** Absent: it is at rest, or over. */
  readonly nextRunAt?: number
}

export type NewSchedule = Omit<Schedule, 'id' | 'createdAt'> & { readonly id?: string }

/** `null` takes away what was said before. */
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
  /** The same key again is the same change, and changes nothing: for callers that may have to repeat themselves. */
  readonly key?: string
}

/** The schedules of a store. Resolves once a change cannot be lost; from whichever process. */
export interface ScheduleBook {
  /** The same id again replaces it. Rejects what cannot be meant, with what would be right. */
  add(schedule: NewSchedule, options?: ChangeOptions): Promise<ScheduleState>
  list(agentId?: string): Promise<readonly ScheduleState[]>
  update(id: string, change: ScheduleChange, options?: ChangeOptions): Promise<ScheduleState>
  /** False where there was none. */
  remove(id: string, options?: ChangeOptions): Promise<boolean>
}

/** An agent has one alarm; setting it anew replaces it. */
export function alarmIdOf(agentId: string): string {
  return `alarm:${agentId}`
}
