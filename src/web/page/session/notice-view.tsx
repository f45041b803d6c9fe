import { Link } from '../frame/link.tsx'
import { type NoticeRow, visibleText } from '../libero.ts'
import { useSessionScreen } from './session-context.ts'

/** What happened to the session, in words. */
export function NoticeView({ row: { text, about, run, seq } }: { readonly row: NoticeRow }) {
  const isBad = about === 'parked' || run?.status === 'error'
  return (
    <p class={isBad ? 'notice bad' : 'notice'}>
      <EntryLink seq={seq}>{isBad ? '✗' : '·'}</EntryLink>
      {visibleText(text)}
    </p>
  )
}

/** The mark of a row that has nothing else to press, as a link to it. */
export function EntryLink({ seq, children }: { readonly seq: number; readonly children: string }) {
  const { session } = useSessionScreen()
  const label = `Link to entry ${seq}`
  return (
    <Link
      to={{ screen: 'session', id: session.id, part: 'chat', seq }}
      class="mark entry-link"
      aria-label={label}
      title={label}
    >
      {children}
    </Link>
  )
}
