import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { BarChart } from '../parts/bar-chart.tsx'
import { Empty } from '../parts/empty.tsx'
import { dollars, shortCount } from '../parts/numbers.ts'
import { Segments } from '../parts/segments.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { ContextRing } from '../usage/context-ring.tsx'
import { type UsageMetric, usageDays } from '../usage/usage-days.ts'
import { UsageTable } from '../usage/usage-table.tsx'
import '../usage/usage.css'

const spans = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['366', 'a year'],
] as const

const metrics = [
  ['cost', 'Cost'],
  ['tokens', 'Tokens'],
] as const satisfies readonly (readonly [UsageMetric, string])[]

/** What was used: tokens and dollars by day, model, agent and tool. */
export function UsageScreen() {
  const { client } = usePage()
  const [span, setSpan] = useState<(typeof spans)[number][0]>('30')
  const [metric, setMetric] = useState<UsageMetric>('tokens')
  const days = Number(span)
  const answer = useAnswer(async () => {
    const [byDay, byModel, byAgent, byTool, byFolder] = await Promise.all([
      client.usage({ by: ['day', 'model'], days }),
      ...(['model', 'agent', 'tool', 'folder'] as const).map((by) => client.usage({ by, days })),
    ])
    return { byDay: byDay!, byModel: byModel!, byAgent: byAgent!, byTool: byTool!, byFolder: byFolder! }
  }, [days])
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>Usage</h1>
        <span class="row-buttons">
          <Segments label="Show" values={metrics} value={metric} onChange={setMetric} />
          <Segments label="Time" values={spans} value={span} onChange={setSpan} />
        </span>
      </div>
      <Shown answer={answer} what="usage">
        {({ byDay, byModel, byAgent, byTool, byFolder }) => {
          const { total } = byDay
          if (total.turns === 0 && total.calls === 0)
            return (
              <Empty title="Nothing was used in this time">
                <p>Each reply of a model and each call of a tool counts on its own day.</p>
              </Empty>
            )
          const { days: columns, series } = usageDays(byDay, { metric, until: new Date().toISOString().slice(0, 10) })
          return (
            <>
              <dl class="totals">
                <Total name="Cost" value={dollars(total.cost)} />
                <Total name="Tokens" value={shortCount(total.tokens)} />
                <Total name="From cache" value={shortCount(total.cacheRead)} />
                <Total name="Replies" value={shortCount(total.turns)} />
                <Total name="Calls" value={shortCount(total.calls)} />
                <Total name="Sessions" value={shortCount(total.sessions)} />
              </dl>
              <BarChart
                label={`${metric === 'cost' ? 'Dollars' : 'Tokens'} by day and model`}
                columns={columns}
                series={series}
                format={metric === 'cost' ? dollars : shortCount}
              />
              <UsageTable by="model" title="By model" rows={byModel.rows} />
              <UsageTable by="agent" title="By agent" rows={byAgent.rows} />
              <UsageTable by="tool" title="By tool" rows={byTool.rows} />
              <UsageTable by="folder" title="By folder" rows={byFolder.rows} />
            </>
          )
        }}
      </Shown>
      <ContextRing />
      <p class="facts">Days are UTC. Costs are in dollars, as far as prices are known.</p>
    </section>
  )
}

function Total({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
