interface SearchBoxProps {
  /** Such as `14 tools`. */
  readonly what: string
  /** Hears what is looked for, in lower case. */
  readonly onText: (text: string) => void
}

/** Narrows a list that is there already. */
export function SearchBox({ what, onText }: SearchBoxProps) {
  return (
    <div class="filters">
      <input
        type="search"
        placeholder={`Search ${what}`}
        aria-label={`Search ${what}`}
        onInput={(event) => onText(event.currentTarget.value.trim().toLowerCase())}
      />
    </div>
  )
}
