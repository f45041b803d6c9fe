import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { visibleName } from '../libero.ts'
import { hasScreen, type PageModel } from '../model/page-model.ts'
import { Dialog } from '../parts/dialog.tsx'
import { shortFolder } from '../parts/short-folder.ts'
import { takeTyped } from '../parts/typed-ahead.ts'
import { usePage } from './page-context.ts'
import { navigate, type Route } from './router.ts'

interface Entry {
  readonly key: string
  readonly kind: 'Screen' | 'Command' | 'Session' | 'Found'
  readonly words: string
  readonly detail?: string
  readonly go: () => void
}

/** Goes to any session, screen or command by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const page = usePage()
  const [text, setText] = useState(takeTyped)
  const [at, setAt] = useState(0)
  const fixed = useMemo(() => [...commandsOf(page), ...screensOf(page), ...sessionsOf(page)], [])
  const found = useFound(page, text)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const entries = [
    ...fixed.filter((one) => words.every((word) => one.words.toLowerCase().includes(word))),
    ...found,
  ].slice(0, 50)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => setAt(0), [text])
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at])

  const choose = (entry: Entry | undefined): void => {
    if (!entry) return
    onClose()
    entry.go()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const move = moves[event.key]
    if (move !== undefined) setAt((at + move + entries.length) % Math.max(1, entries.length))
    else if (event.key === 'Enter' && !event.isComposing) choose(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog label="Search and go to" class="palette" onClose={onClose}>
      <input
        type="text"
        {...combobox}
        aria-controls="palette-list"
        aria-activedescendant={entries[at] ? `palette-${at}` : undefined}
        aria-label="Search and go to"
        placeholder="A session, a screen, a command"
        autofocus
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id="palette-list" role="listbox" tabIndex={-1} aria-label="Places">
        {entries.map((entry, i) => (
          <button
            type="button"
            tabIndex={-1}
            key={entry.key}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => choose(entry)}
            onMouseMove={() => setAt(i)}
          >
            <span class="one-line">{entry.words}</span>
            <span class="facts one-line">{entry.detail ?? entry.kind}</span>
          </button>
        ))}
      </div>
      {entries.length === 0 && <p class="facts">Nothing is named like that.</p>}
    </Dialog>
  )
}

/** Not written in place: the types of Preact want the `list` of a native one with it. */
const combobox: object = { role: 'combobox', 'aria-expanded': true }

const screenNames: readonly (readonly [Route, string])[] = [
  [{ screen: 'waiting' }, 'Waiting'],
  [{ screen: 'sessions' }, 'Sessions'],
  [{ screen: 'agents' }, 'Agents'],
  [{ screen: 'schedules' }, 'Schedules'],
  [{ screen: 'usage' }, 'Usage'],
  [{ screen: 'rules' }, 'Rules'],
  [{ screen: 'tools' }, 'Tools, MCP servers, skills'],
  [{ screen: 'settings' }, 'Settings'],
]

const screensOf = ({ base, state }: PageModel): readonly Entry[] =>
  screenNames
    .filter(([{ screen }]) => hasScreen(state, screen))
    .map(([route, words]) => ({ key: words, kind: 'Screen', words, go: () => navigate(base, route) }))

function commandsOf({ base, theme, logout }: PageModel): readonly Entry[] {
  const command = (words: string, go: () => void): Entry => ({ key: words, kind: 'Command', words, go })
  return [
    command('New session', () => navigate(base, { screen: 'new' })),
    command('Light theme', () => theme.choose('light')),
    command('Dark theme', () => theme.choose('dark')),
    command('Theme of the system', () => theme.choose('system')),
    command('Print', () => print()),
    command('Log out', () => void logout()),
  ]
}

function sessionsOf({ base, sessions }: PageModel): readonly Entry[] {
  return (sessions.state.sessions ?? []).map(({ id, title, folder }) => ({
    ...{ key: id, kind: 'Session', words: visibleName(title ?? id) },
    ...(folder !== undefined && { detail: shortFolder(folder) }),
    go: () => navigate(base, { screen: 'session', id, part: 'chat' }),
  }))
}

/** Places in all sessions where the text occurs; none where the server does not search. */
function useFound({ client, base }: PageModel, text: string): readonly Entry[] {
  const [found, setFound] = useState<readonly Entry[]>([])
  useEffect(() => {
    setFound([])
    if (text.trim().length < 3) return
    let isCurrent = true
    const read = async (): Promise<void> => {
      const { hits } = await client.search(text.trim(), { limit: 8 })
      const entries = hits.map(({ session, title, seq, excerpt }, i): Entry => {
        const route: Route = { screen: 'session', id: session, part: 'chat', ...(seq !== undefined && { seq }) }
        const words = visibleName(excerpt)
        return {
          key: `found ${i}`,
          kind: 'Found',
          words,
          detail: visibleName(title ?? session),
          go: () => navigate(base, route),
        }
      })
      if (isCurrent) setFound(entries)
    }
    const timer = setTimeout(() => read().catch(() => {}), 200)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  return found
}
