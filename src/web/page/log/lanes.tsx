import { useMemo } from 'preact/hooks'
import type { RemoteSession } from '../libero.ts'
import type { EntryFact, Span } from './log-model.ts'

interface LanesProps {
  readonly facts: readonly EntryFact[]
  readonly spans: readonly Span[]
  readonly agents: readonly RemoteSession[]
  /** The entry that is looked at. */
  readonly at: number
  readonly onChoose: (seq: number) => void
}

/** Entries in sight at once. */
const inSight = 240
const [width, laneHeight] = [1000, 22]
const lanes = ['runs', 'turns', 'calls', 'children'] as const

/** Runs, turns, calls and sub-agents over the entries around the one that is looked at. */
export function Lanes({ facts, spans, agents, at, onChoose }: LanesProps) {
  const head = facts.at(-1)?.seq ?? 1
  const first = Math.max(1, Math.min(at - inSight / 2, head - inSight + 1))
  const last = Math.min(head, first + inSight - 1)
  const x = (seq: number): number => ((seq - first) / Math.max(1, last - first)) * (width - 8) + 4
  const bars = useMemo(() => spans.filter(({ from, to = head }) => from <= last && to >= first), [spans, first, last])
  const turns = useMemo(
    () => facts.slice(Math.max(0, first - 1), last).filter(({ type }) => type === 'turn'),
    [facts, first, last],
  )
  const subAgents = useMemo(() => agents.map((child) => ({ child, ...spanOf(child, facts) })), [agents, facts])
  const rows = useMemo(() => stacked(bars.filter(({ lane }) => lane === 'calls')), [bars])
  const choose = (event: MouseEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect()
    const share = (event.clientX - box.left) / box.width
    onChoose(Math.round(Math.max(first, Math.min(last, first + share * (last - first)))))
  }
  return (
    <figure class="lanes">
      <div class="lane-names" aria-hidden="true">
        {lanes.map((lane) => (
          <span key={lane}>{lane}</span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider and the list do the same with the keyboard */}
      <svg
        viewBox={`0 0 ${width} ${laneHeight * 4 + 12}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Entries ${first} to ${last} of ${head}: ${bars.length} runs and calls`}
        onClick={choose}
      >
        {lanes.map((lane, i) => (
          <line
            key={lane}
            class="lane-line"
            x1="0"
            x2={width}
            y1={(i + 1) * laneHeight + 6}
            y2={(i + 1) * laneHeight + 6}
          />
        ))}
        {bars
          .filter(({ lane }) => lane === 'runs')
          .map(({ id, label, from, to = head, outcome }) => (
            <rect
              key={id}
              class={`bar ${outcome ?? 'open'}`}
              x={x(from)}
              width={Math.max(3, x(to) - x(from))}
              y={8}
              height={14}
              rx="3"
            >
              <title>{`${label}, entries ${from} to ${to}`}</title>
            </rect>
          ))}
        {turns.map(({ seq, about, words }) => (
          <path key={seq} class={about === 'user' ? 'dot person' : 'dot'} d={`M${x(seq)} ${laneHeight * 1.5 + 6}h0`}>
            <title>{words}</title>
          </path>
        ))}
        {rows.map(({ span: { id, label, from, to = head, outcome }, row }) => (
          <rect
            key={id}
            class={`bar ${outcome ?? 'open'}`}
            x={x(from)}
            width={Math.max(3, x(to) - x(from))}
            y={laneHeight * 2 + 8 + row * 5}
            height={4}
            rx="2"
          >
            <title>{`${label}, entries ${from} to ${to}`}</title>
          </rect>
        ))}
        {subAgents
          .filter(({ from, to }) => from <= last && to >= first)
          .map(({ child, from, to }) => (
            <rect
              key={child.id}
              class="bar child"
              x={x(from)}
              width={Math.max(3, x(to) - x(from))}
              y={laneHeight * 3 + 8}
              height={14}
              rx="3"
            >
              <title>{child.title ?? child.id}</title>
            </rect>
          ))}
        <line class="lane-at" x1={x(at)} x2={x(at)} y1="0" y2={laneHeight * 4 + 12} />
      </svg>
    </figure>
  )
}

/** Calls that ran beside each other lie below each other, in at most three rows. */
function stacked(spans: readonly Span[]): { readonly span: Span; readonly row: number }[] {
  const ends = [0, 0, 0]
  return spans.map((span) => {
    const free = ends.findIndex((end) => end <= span.from)
    const row = free < 0 ? 2 : free
    ends[row] = span.to ?? Number.POSITIVE_INFINITY
    return { span, row }
  })
}

/** A sub-agent has a log of its own: its times tell beside which entries it worked. */
function spanOf({ createdAt, updatedAt }: RemoteSession, facts: readonly EntryFact[]): { from: number; to: number } {
  return { from: entryAt(facts, createdAt), to: entryAt(facts, updatedAt) }
}

function entryAt(facts: readonly EntryFact[], time: number): number {
  let [low, high] = [0, facts.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (facts[middle]!.at < time) low = middle + 1
    else high = middle
  }
  return facts[low]?.seq ?? 1
}
