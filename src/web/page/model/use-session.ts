import { useEffect, useMemo } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { onWake } from './on-wake.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { createSessionModel, type SessionModel } from './session-model.ts'

/** The model of a session while a screen shows it. It comes back at once when the tab or the network does. */
export function useSession(id: string, outbox?: Outbox): SessionModel {
  const { client } = usePage()
  const session = useMemo(
    () => createSessionModel(client, id, { nextFrame, pause, outbox: outbox ?? createOutbox(id, localStorage) }),
    [client, id],
  )
  useEffect(() => {
    session.start()
    const stopLooking = onWake(() => session.wake())
    return () => {
      stopLooking()
      session.stop()
    }
  }, [session])
  return session
}

/** A hidden tab draws nothing, and still keeps up. */
const nextFrame = (callback: () => void): void => {
  if (document.hidden) setTimeout(callback, 200)
  else requestAnimationFrame(callback)
}

const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve))
