import { Panels } from '../parts/panels.tsx'
import { AuditPanel } from '../rules/audit-panel.tsx'
import { ExplainPanel } from '../rules/explain-panel.tsx'
import { GrantsPanel } from '../rules/grants-panel.tsx'
import { RulesPanel } from '../rules/rules-panel.tsx'
import { TestPanel } from '../rules/test-panel.tsx'
import '../rules/rules.css'

const panels = [
  ['Explain', ExplainPanel],
  ['Test', TestPanel],
  ['In force', RulesPanel],
  ['Grants', GrantsPanel],
  ['Audit', AuditPanel],
] as const

/** What decides about calls: explained, tested, listed, granted, and what was decided. */
export const RulesScreen = () => <Panels title="Rules" panels={panels} />
