import type { SessionStore } from '../../core/store.ts'
import { schedulesLogId } from '../../workflow/schedules/schedule-ledger.ts'

/** Whether a program is waking agents now. */
export async function isSchedulerRunning(store: SessionStore): Promise<boolean> {
  return (await store.find(schedulesLogId))?.isHeld === true
}

/** A store that calls `onWaking` when this process gets the lease for waking agents, which a workflow does not report. */
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

export const noSchedulerNotice = 'No scheduler is running; start one with: libero schedules run'
