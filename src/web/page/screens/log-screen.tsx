import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ScreenProps } from '../frame/app.tsx'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { pluralize, type RemoteClient, type RemoteSession, visibleName } from '../libero.ts'
import { EntryDetail } from '../log/entry-detail.tsx'
import { EntryList } from '../log/entry-list.tsx'
import { Lanes } from '../log/lanes.tsx'
import { createLogModel, type LogSource } from '../log/log-model.ts'
import { fileSource, readExport } from '../log/read-export.ts'
import { useModel } from '../model/model.ts'
import { Failure } from '../parts/failure.tsx'
import { wordsOf } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import '../styles/log.css'

/** The inspector: every entry of a log, with lanes of what lasted, filters, and the state at any of them. A dropped export opens too. */
export function LogScreen({ route }: ScreenProps) {
  const { client } = usePage()
  const id = route.screen === 'session' ? route.id : ''
  const seq = route.screen === 'session' ? route.seq : undefined
  const [file, setFile] = useState<{ readonly name: string; readonly source: LogSource }>()
  const [problem, setProblem] = useState<string>()
  const own = useMemo(() => serverSource(client, id), [client, id])
  const summary = useAnswer(() => client.sessions.get(id), [id])
  const agents = useAnswer(async () => (await client.sessions.list({ parent: id, limit: 200 })).sessions, [id])
  const drop = async (dropped: File | undefined): Promise<void> => {
    if (!dropped) return
    try {
      setFile({ name: dropped.name, source: fileSource(readExport(await dropped.text())) })
      setProblem(undefined)
    } catch (error) {
      setProblem(wordsOf(error))
    }
  }
  if (summary.error !== undefined) return <Failure error={summary.error} todo="Go back to the list of sessions." />
  return (
    <section
      class="log-screen"
      aria-label="Log"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void drop(event.dataTransfer?.files[0])
      }}
    >
      <header class="sheet-head">
        <h1 class="one-line">{`Log: ${visibleName(file?.name ?? summary.value?.title ?? id)}`}</h1>
        <span class="row-buttons">
          <label class="button">
            Open an export
            <input
              class="visually-hidden"
              type="file"
              accept=".jsonl,application/jsonl"
              onChange={(event) => void drop(event.currentTarget.files?.[0])}
            />
          </label>
          {file ? (
            <button type="button" onClick={() => setFile(undefined)}>
              Back to the session
            </button>
          ) : (
            <Link to={{ screen: 'session', id, part: 'chat' }} class="button">
              Conversation
            </Link>
          )}
        </span>
      </header>
      {problem !== undefined && <p role="alert">{problem}</p>}
      <Inspector
        key={file?.name ?? id}
        source={file?.source ?? own}
        agents={file ? [] : (agents.value ?? [])}
        {...(file ? {} : { session: id, seq })}
      />
    </section>
  )
}

function serverSource(client: RemoteClient, id: string): LogSource {
  return {
    async read(after, to) {
      const range = { after, limit: 500, ...(to !== undefined && { before: to + 1 }) }
      return (await client.sessions.entries(id, range)).entries
    },
    follow: (after, signal) => client.events(id, { after, deltas: false, signal }),
  }
}

interface InspectorProps {
  readonly source: LogSource
  readonly session?: string
  readonly seq?: number | undefined
  readonly agents: readonly RemoteSession[]
}

function Inspector({ source, session, seq, agents }: InspectorProps) {
  const { base } = usePage()
  const log = useMemo(() => createLogModel(source), [source])
  const { facts, spans, isWhole, problem } = useModel(log)
  const [chosen, setChosen] = useState(seq)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [words, setWords] = useState('')
  useEffect(() => {
    log.start()
    return () => log.stop()
  }, [log])
  useEffect(() => setChosen(seq), [seq])
  const head = facts.at(-1)?.seq ?? 1
  const at = Math.min(chosen ?? head, isWhole ? head : (chosen ?? head))
  const counts = useMemo(() => countsOf(facts.map(({ type }) => type)), [facts])
  const shown = useMemo(() => {
    const wanted = words.trim().toLowerCase()
    if (hidden.size === 0 && wanted === '') return facts
    return facts.filter((fact) => !hidden.has(fact.type) && fact.words.toLowerCase().includes(wanted))
  }, [facts, hidden, words])
  const choose = (to: number): void => {
    setChosen(to)
    if (session !== undefined)
      navigate(base, { screen: 'session', id: session, part: 'log', seq: to }, { replaces: true })
  }
  const toggle = (type: string): void => {
    const next = new Set(hidden)
    if (!next.delete(type)) next.add(type)
    setHidden(next)
  }
  if (problem !== undefined) return <Failure error={problem} todo="Reload the page." />
  return (
    <>
      <Lanes facts={facts} spans={spans} agents={agents} at={at} onChoose={choose} />
      <label class="log-slider">
        <span class="visually-hidden">Entry</span>
        <input
          type="range"
          min={1}
          max={head}
          value={at}
          onInput={(event) => choose(Number(event.currentTarget.value))}
        />
        <span class="facts">{`${at} of ${head}${isWhole ? '' : ', reading'}`}</span>
      </label>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would have a legend and a border */}
      <div class="log-filters" role="group" aria-label="Types of entries">
        <input
          type="search"
          aria-label="Filter by words"
          placeholder="Filter"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {counts.map(([type, count]) => (
          <button key={type} type="button" class="chip" aria-pressed={!hidden.has(type)} onClick={() => toggle(type)}>
            {`${type.replaceAll('_', ' ')} ${count}`}
          </button>
        ))}
        <span class="facts" role="status">
          {shown.length < facts.length ? `${pluralize(shown.length, 'entry')} left` : ''}
        </span>
      </div>
      <div class="log-body">
        <EntryList facts={shown} at={at} onChoose={choose} />
        {facts.length > 0 && <EntryDetail source={source} seq={at} {...(session !== undefined && { session })} />}
      </div>
    </>
  )
}

function countsOf(types: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)
}
