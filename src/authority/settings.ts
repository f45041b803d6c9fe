/** How much is asked. `plan` only looks; `yolo` asks about nothing but what can hurt beyond repair. */
export type SecurityMode = 'plan' | 'ask' | 'allowlist' | 'yolo'

/**
 * `name` or `name:pattern` over approval keys, or an effect with an optional pattern over its target: `fs.write`,
 * `fs.write:src/*`, `exec`, `net:*.example.org`, `mcp:github.*`, `spawn`. `*` is any run of characters, all else is
 * literal, both ends are anchored. For a tool that runs shell lines a pattern is matched against the words of each
 * command: `shell:ls`, `shell:git status`.
 */
export type RuleEntry =
  | string
  | {
      readonly rule: string
      /** Shown with the decision. */
      readonly why?: string
      /** Calls it has to match or must not match, checked when it is loaded: shell lines, or keys of the tool. */
      readonly match?: readonly string[]
      readonly notMatch?: readonly string[]
    }

/** The seeds' rules for one tool: regular expressions over the JSON of `{tool, parameters}`, without regard to case. */
export interface ToolRule {
  /** `auto` needs no question, `confirm` always asks. Default: what the security mode says. */
  readonly mode?: 'auto' | 'confirm'
  readonly allowPatterns?: readonly string[]
  readonly denyPatterns?: readonly string[]
  /** For tools that have no time limit of their own. 0 means none. */
  readonly timeoutMs?: number
}

/** What one layer says. Unknown fields are refused. */
export interface AuthoritySettings {
  readonly mode?: SecurityMode
  /** Hold in every mode but `plan`, which they cannot widen. */
  readonly allow?: readonly RuleEntry[]
  /** Ask in every mode, whatever is allowed. */
  readonly ask?: readonly RuleEntry[]
  readonly deny?: readonly RuleEntry[]
  /** Count in the mode `allowlist` alone; an error where no layer chooses it. */
  readonly allowlist?: readonly RuleEntry[]
  readonly tools?: Readonly<Record<string, ToolRule>>
  /** Whether a tool that only reads inside the workspace is asked about, in `ask` and `allowlist`. Default `allow`. */
  readonly workspaceReads?: 'allow' | 'ask'
}

/** The same from all sides, weakest first. A project may only tighten: what would loosen is left out, with a warning. */
export interface SettingsLayers {
  readonly bundled?: AuthoritySettings
  readonly global?: AuthoritySettings
  readonly project?: AuthoritySettings
  readonly launch?: AuthoritySettings
}
