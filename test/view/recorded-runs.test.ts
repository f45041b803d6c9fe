import { describe, expect, test } from 'vitest'
import type { AgentEvent, DurableEvent } from '../../src/events/events.ts'
import type { Row } from '../../src/view/rows.ts'
import { emptyView, foldEntries, foldEvent, foldEvents } from '../../src/view/session-view.ts'
import { withoutLive } from './random-log.ts'
import { recordings } from './recorded-runs.ts'

const isDurable = (event: AgentEvent): event is DurableEvent => event.durable
const entriesOf = (events: readonly AgentEvent[]) => events.filter(isDurable).map(({ entry }) => entry)

describe.each(Object.entries(recordings))('%s', (_, recorded) => {
  test('SV08 the view that was live, at every entry, is that of a replay', async () => {
    const events = await recorded()
    expect(events.length).toBeGreaterThan(5)
    const entries = entriesOf(events)
    let live = emptyView
    let replayed = emptyView
    for (const event of events) {
      live = foldEvent(live, event)
      if (!event.durable) continue
      replayed = foldEntries(replayed, [event.entry])
      expect(withoutLive(live)).toEqual(withoutLive(replayed))
    }
    expect(replayed.head).toBe(entries.at(-1)?.seq)
  })

  test('SV09 folding in two pieces is the same as at once, wherever it is cut', async () => {
    const events = await recorded()
    const whole = foldEvents(emptyView, events)
    for (let cut = 0; cut <= events.length; cut += 1 + Math.floor(events.length / 40))
      expect(foldEvents(foldEvents(emptyView, events.slice(0, cut)), events.slice(cut))).toEqual(whole)
  })

  test('SV10 what streams changes one row, and all other rows stay the same objects', async () => {
    let view = emptyView
    for (const event of await recorded()) {
      const next = foldEvent(view, event)
      expect(new Set(next.rows.map(({ id }) => id)).size).toBe(next.rows.length)
      const kept = new Set<Row>(view.rows)
      const changed = next.rows.changesSince(view.rows)
      if (event.durable || event.type === 'text' || event.type === 'thinking' || event.type === 'tool_args') {
        const fresh = [...next.rows].filter((row) => !kept.has(row))
        if (!event.durable) expect(fresh).toHaveLength(1)
        expect(changed.map((at) => next.rows.at(at))).toEqual(expect.arrayContaining(fresh))
      } else if (event.type === 'child') expect(next.rows).toBe(view.rows)
      view = next
    }
  })
})
