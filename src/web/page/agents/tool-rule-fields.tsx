import type { RemoteToolRule } from '../libero.ts'

interface ToolRuleFieldsProps {
  readonly rule: RemoteToolRule
  readonly disabled?: boolean
  readonly onChange: (rule: RemoteToolRule) => void
}

/** When a tool needs an approval: always, never, or by patterns over the call; and how long an answer may take. */
export function ToolRuleFields({ rule, disabled = false, onChange }: ToolRuleFieldsProps) {
  const { mode, allowPatterns = [], denyPatterns = [], timeoutMs } = rule
  const set = (changes: { [Field in keyof RemoteToolRule]: RemoteToolRule[Field] | undefined }): void =>
    onChange(withoutUndefined({ ...rule, ...changes }))
  return (
    <fieldset class="fields rule-fields" disabled={disabled}>
      <legend class="visually-hidden">Approval</legend>
      <label class="field">
        <span>Approval</span>
        <select
          value={mode ?? ''}
          onChange={({ currentTarget: { value } }) =>
            set({ mode: value === '' ? undefined : (value as 'auto' | 'confirm') })
          }
        >
          <option value="">by the mode</option>
          <option value="auto">auto: needs none</option>
          <option value="confirm">confirm: always asks</option>
        </select>
      </label>
      <label class="field">
        <span>Seconds to answer (0: no limit)</span>
        <input
          type="number"
          min={0}
          value={timeoutMs === undefined ? '' : timeoutMs / 1000}
          onChange={({ currentTarget: { value } }) =>
            set({ timeoutMs: value === '' ? undefined : Number(value) * 1000 })
          }
        />
      </label>
      <Patterns
        label="Allow if it matches, one regular expression a line"
        patterns={allowPatterns}
        onChange={(allow) => set({ allowPatterns: allow })}
      />
      <Patterns label="Deny if it matches" patterns={denyPatterns} onChange={(deny) => set({ denyPatterns: deny })} />
    </fieldset>
  )
}

interface PatternsProps {
  readonly label: string
  readonly patterns: readonly string[]
  readonly onChange: (patterns: readonly string[] | undefined) => void
}

function Patterns({ label, patterns, onChange }: PatternsProps) {
  const take = (text: string): void => {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    onChange(lines.length === 0 ? undefined : lines)
  }
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        class="mono"
        rows={2}
        spellcheck={false}
        defaultValue={patterns.join('\n')}
        onChange={(event) => take(event.currentTarget.value)}
      />
    </label>
  )
}

function withoutUndefined(rule: Readonly<Record<string, unknown>>): RemoteToolRule {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined))
}
