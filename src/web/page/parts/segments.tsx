interface SegmentsProps<Value extends string> {
  readonly label: string
  readonly values: readonly (readonly [value: Value, words: string])[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** A choice of few, all of them in sight. */
export function Segments<Value extends string>({ label, values, value, onChange }: SegmentsProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would have a legend and a border
    <div class="segments" role="group" aria-label={label}>
      {values.map(([one, words]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {words}
        </button>
      ))}
    </div>
  )
}
