import { useEffect, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { type RemoteSearchHit, visibleName, visibleText } from '../libero.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { wordsOf } from '../parts/use-action.ts'

interface Found {
  readonly hits: readonly RemoteSearchHit[]
  readonly next?: string
  readonly isDone: boolean
  readonly problem?: string
}

/** Where a text occurs in all sessions. Pages without a hit are read on until there are some. */
export function SearchHits({ text }: { readonly text: string }) {
  const { client } = usePage()
  const [found, setFound] = useState<Found>({ hits: [], isDone: false })
  const [wanted, setWanted] = useState(30)
  useEffect(() => setWanted(30), [text])
  useEffect(() => {
    let isCurrent = true
    const read = async (): Promise<void> => {
      const hits: RemoteSearchHit[] = []
      for (let next: string | undefined; isCurrent; ) {
        const page: Awaited<ReturnType<typeof client.search>> = await client.search(text, {
          limit: 30,
          ...(next !== undefined && { cursor: next }),
        })
        hits.push(...page.hits)
        next = page.next
        if (!isCurrent) return
        const isDone = next === undefined || hits.length >= wanted
        setFound({ hits: [...hits], isDone, ...(next !== undefined && { next }) })
        if (isDone) return
      }
    }
    const timer = setTimeout(
      () =>
        read().catch((error: unknown) => isCurrent && setFound({ hits: [], isDone: true, problem: wordsOf(error) })),
      250,
    )
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, wanted])
  const { hits, isDone, next, problem } = found
  if (problem !== undefined) return <p class="facts">{problem}</p>
  return (
    <>
      <p class="facts" role="status">
        {isDone ? `${hits.length}${next === undefined ? '' : '+'} places with “${visibleName(text)}”` : 'Searching …'}
      </p>
      {!isDone && hits.length === 0 && <Skeleton lines={4} />}
      <ul class="item-list">
        {hits.map(({ session, title, seq, where, excerpt, updatedAt }, i) => (
          <li key={i}>
            <div class="item-head">
              <Link to={{ screen: 'session', id: session, part: 'chat', ...(seq !== undefined && { seq }) }}>
                {visibleName(title ?? session)}
              </Link>
              <span class="facts">{whereWords[where]}</span>
              <RelativeTime at={updatedAt} />
            </div>
            <p class="item-text">
              <Marked text={visibleText(excerpt)} mark={text} />
            </p>
          </li>
        ))}
      </ul>
      {isDone && next !== undefined && (
        <button type="button" onClick={() => setWanted(wanted + 30)}>
          More places
        </button>
      )}
    </>
  )
}

const whereWords: Readonly<Record<RemoteSearchHit['where'], string>> = {
  title: 'in the title',
  user: 'you',
  assistant: 'answer',
  thinking: 'thinking',
  call: 'call',
  result: 'result',
  label: 'label',
}

/** A text in which another one is marked. */
function Marked({ text, mark }: { readonly text: string; readonly mark: string }) {
  const at = text.toLowerCase().indexOf(mark.toLowerCase())
  if (at < 0 || mark === '') return <>{text}</>
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + mark.length)}</mark>
      {text.slice(at + mark.length)}
    </>
  )
}
