import { useState } from 'preact/hooks'
import { Segments } from '../parts/segments.tsx'
import { AuditPanel } from '../rules/audit-panel.tsx'
import { ExplainPanel } from '../rules/explain-panel.tsx'
import { GrantsPanel } from '../rules/grants-panel.tsx'
import { RulesPanel } from '../rules/rules-panel.tsx'
import { TestPanel } from '../rules/test-panel.tsx'
import '../rules/rules.css'

const panels = {
  explain: ['Explain', ExplainPanel],
  test: ['Test', TestPanel],
  rules: ['In force', RulesPanel],
  grants: ['Grants', GrantsPanel],
  audit: ['Audit', AuditPanel],
} as const

type Panel = keyof typeof panels

const names = (Object.keys(panels) as Panel[]).map((panel) => [panel, panels[panel][0]] as const)

/** What decides about calls: explained, tested, listed, granted, and what was decided. */
export function RulesScreen() {
  const [panel, setPanel] = useState<Panel>('explain')
  const [, Shown] = panels[panel]
  return (
    <section class="sheet">
      <div class="sheet-head">
        <h1>Rules</h1>
        <Segments label="Part" values={names} value={panel} onChange={setPanel} />
      </div>
      <Shown />
    </section>
  )
}
