import { useEffect, useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { fullyVisible, type RemoteAuditQuery, type RemoteAuditRecord, visibleName } from '../libero.ts'
import { Empty } from '../parts/empty.tsx'
import { RelativeTime } from '../parts/relative-time.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { VerdictTag } from '../parts/verdict.tsx'

type Filter = Pick<RemoteAuditQuery, 'text' | 'tool' | 'decision' | 'days'>

/** What was decided about calls, by whom, and what became of them; newest first. */
export function AuditPanel() {
  const [filter, setFilter] = useState<Filter>({ days: 30 })
  const set = (name: keyof Filter, value: string): void => {
    const { [name]: _, ...others } = filter
    setFilter(value === '' ? others : { ...others, [name]: name === 'days' ? Number(value) : value })
  }
  return (
    <>
      <div class="filters">
        <input
          type="search"
          aria-label="Text"
          placeholder="Text"
          onChange={(event) => set('text', event.currentTarget.value.trim())}
        />
        <input
          aria-label="Tool"
          placeholder="Tool"
          class="mono"
          onChange={(event) => set('tool', event.currentTarget.value.trim())}
        />
        <select aria-label="Decision" onChange={(event) => set('decision', event.currentTarget.value)}>
          <option value="">All decisions</option>
          <option value="allow">allowed</option>
          <option value="ask">asked</option>
          <option value="deny">denied</option>
        </select>
        <select aria-label="Time" value="30" onChange={(event) => set('days', event.currentTarget.value)}>
          <option value="1">a day</option>
          <option value="7">7 days</option>
          <option value="30">30 days</option>
          <option value="365">a year</option>
        </select>
      </div>
      <Records filter={filter} />
    </>
  )
}

function Records({ filter }: { readonly filter: Filter }) {
  const { client } = usePage()
  const key = JSON.stringify(filter)
  const [older, setOlder] = useState<{
    readonly records: readonly RemoteAuditRecord[]
    readonly next?: string | undefined
  }>()
  const answer = useAnswer(() => client.audit({ ...filter, limit: 50 }), [key])
  useEffect(() => setOlder(undefined), [key])
  const readOlder = async (cursor: string): Promise<void> => {
    const page = await client.audit({ ...filter, limit: 50, cursor })
    setOlder({ records: [...(older?.records ?? []), ...page.records], next: page.next })
  }
  return (
    <Shown answer={answer} what="audit">
      {({ records, next }) => {
        const last = older ? older.next : next
        if (records.length === 0 && last === undefined)
          return (
            <Empty title="No record is like that">
              <p>Each call of a tool leaves one: who decided, why, and what became of it.</p>
            </Empty>
          )
        return (
          <>
            <ul class="item-list audit">
              {[...records, ...(older?.records ?? [])].map((record) => (
                <Record key={record.seq} record={record} />
              ))}
            </ul>
            {last !== undefined && (
              <button type="button" onClick={() => readOlder(last)}>
                Older records
              </button>
            )}
          </>
        )
      }}
    </Shown>
  )
}

function Record({ record }: { readonly record: RemoteAuditRecord }) {
  const { event, tool, key, decision, at, approver, sessionId, command } = record
  const facts = [decision?.why, decision?.rule, approver && `by ${approver}`, command].filter(
    (one) => one !== undefined,
  )
  return (
    <li>
      <div class="item-head">
        {decision && <VerdictTag verdict={decision.verdict} />}
        <strong>{fullyVisible(tool ?? record.class)}</strong>
        <span class="facts">{eventWords(event)}</span>
        <RelativeTime at={Date.parse(at)} />
      </div>
      {key !== undefined && (
        <p class="item-text">
          <code>{fullyVisible(key)}</code>
        </p>
      )}
      <p class="item-text">
        {facts.map((one) => fullyVisible(one)).join(' · ')}
        {sessionId !== undefined && (
          <>
            {facts.length > 0 && ' · '}
            <Link to={{ screen: 'session', id: sessionId, part: 'chat' }}>{visibleName(sessionId)}</Link>
          </>
        )}
      </p>
      {record.details && (
        <details>
          <summary class="facts">Details</summary>
          <pre class="lines">{fullyVisible(JSON.stringify(record.details, null, 2), { lines: 'kept' })}</pre>
        </details>
      )}
    </li>
  )
}

/** `ToolInvocationStarted` as `tool invocation started`. */
const eventWords = (event: string): string =>
  visibleName(event)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
