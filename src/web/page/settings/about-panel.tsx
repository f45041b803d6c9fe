import { usePage } from '../frame/page-context.ts'
import { visibleName } from '../libero.ts'
import { useModel } from '../model/model.ts'
import type { Theme } from '../model/theme-choice.ts'
import { Segments } from '../parts/segments.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { NotificationChoice } from '../waiting/notification-choice.tsx'

const themes = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const satisfies readonly (readonly [Theme, string])[]

/** This browser: theme, notifications, logout; and the server: its version, machine, and what the token may do. */
export function AboutPanel() {
  const { client, theme, logout } = usePage()
  const chosen = useModel(theme)
  const answer = useAnswer(() => client.about(), [])
  return (
    <>
      <h2>This browser</h2>
      <div class="settings-line">
        <span>Theme</span>
        <Segments label="Theme" values={themes} value={chosen} onChange={theme.choose} />
      </div>
      <div class="settings-line">
        <span>When something waits</span>
        <NotificationChoice />
      </div>
      <div class="settings-line">
        <span>The cookie of this browser</span>
        <button type="button" onClick={() => logout()}>
          Log out
        </button>
      </div>
      <h2>This server</h2>
      <Shown answer={answer} what="facts about itself">
        {({ version, user, tenant, scopes, host, folder }) => (
          <>
            <Line name="Libero" value={version} />
            <Line name="You are" value={tenant === undefined ? user : `${user} of ${tenant}`} />
            <Line name="You may" value={scopes.map((scope) => scopeWords[scope]).join(', ')} />
            {host !== undefined && <Line name="Machine" value={host} />}
            {folder !== undefined && <Line name="Sessions without a folder work in" value={folder} />}
          </>
        )}
      </Shown>
    </>
  )
}

const scopeWords: Readonly<Record<string, string>> = {
  read: 'read',
  send: 'send messages',
  answer: 'answer approvals',
  admin: 'change settings and keys',
}

function Line({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="settings-line">
      <span>{name}</span>
      <span>{visibleName(value)}</span>
    </div>
  )
}
