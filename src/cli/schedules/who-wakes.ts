import type { SessionStore } from '../../core/store.ts'
import { schedulesLogId } from '../../workflow/schedules/schedule-change.ts'
import { isBeingWritten } from '../sessions/live-state.ts'

/** Whether some program wakes agents just now. */
export const isSomebodyWaking = (store: SessionStore): Promise<boolean> => isBeingWritten(store, schedulesLogId)

/** Said to whoever counts on it where nobody does. */
export const nobodyWakes = 'Nobody wakes agents just now; let it be done with: libero schedules run'
