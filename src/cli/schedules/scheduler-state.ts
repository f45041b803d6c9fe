import type { SessionStore } from '../../core/store.ts'
import { schedulesLogId } from '../../workflow/schedules/schedule-ledger.ts'
import { isBeingWritten } from '../sessions/session-state.ts'

/** Whether some program wakes agents just now. */
export const isSchedulerRunning = (store: SessionStore): Promise<boolean> => isBeingWritten(store, schedulesLogId)

/** A store that tells when somebody here gets the right to wake agents: a workflow says so to nobody. */
export function notifyOnWaking(store: SessionStore, onWaking: () => void): SessionStore {
  return {
    ...store,
    async lease(id, request) {
      const lease = await store.lease(id, request)
      if (id === schedulesLogId && request.epoch === undefined && request.owner.startsWith('scheduler#')) onWaking()
      return lease
    },
  }
}

/** Said to whoever counts on it where nobody does. */
export const noSchedulerNotice = 'Nobody wakes agents just now; let it be done with: libero schedules run'
