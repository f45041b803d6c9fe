import { useState } from 'preact/hooks'

/** Lets the person allow notifications of the browser, where it has them and was not asked yet. */
export function NotificationChoice() {
  const [state, setState] = useState('Notification' in globalThis ? Notification.permission : 'denied')
  if (state !== 'default') return <span class="facts">{state === 'granted' ? 'Notifications are on' : ''}</span>
  return (
    <button type="button" onClick={async () => setState(await Notification.requestPermission())}>
      Notify me
    </button>
  )
}
