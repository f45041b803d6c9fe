import { useKept } from '../parts/use-kept.ts'

interface RuleFormProps {
  /** As the authority proposes it. */
  readonly rule: string
  /** Under which the changed rule is kept until it is sent. */
  readonly digest: string
  readonly isActive: boolean
  readonly onKeep: (rule: string) => void
}

/** The rule that the project keeps, which the person may change. One that cannot be kept is refused by the server, with the reason. */
export function RuleForm({ rule, digest, isActive, onKeep }: RuleFormProps) {
  const [text, setText] = useKept(`rule ${digest}`, rule)
  const keep = (event: Event): void => {
    event.preventDefault()
    if (isActive) onKeep(text.trim())
  }
  return (
    <form class="rule-form" onSubmit={keep}>
      <label>
        Or always allow what this rule covers; * stands for anything
        <input
          value={text}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={!isActive || text.trim() === ''}>
        Keep this rule
      </button>
    </form>
  )
}
