/** A shell line that reaches what it must not, tried in a scene. `@WORK`, `@OUT` and the like stand for what `Scene.fill` says. */
export interface Attack {
  readonly name: string
  readonly line: string
  /** A script of bash that runs before it in the workspace, with all rights: what the attacker or the person left there. */
  readonly setup?: string
  /** Where the agent works. Default: `@WORK`. */
  readonly cwd?: string
  /** Runs at last: ends and removes what the scene does not know of. */
  readonly cleanup?: string
  /** A line that the person runs afterwards, outside of any sandbox: what the attack left there takes effect then. */
  readonly later?: string
  /** Where the line ran in a sandbox or by an agent, Libero takes snapshots in place of `later`: they obey nothing of what was left. */
  readonly snapshot?: true
  /** The effect by which it counts. Default: that of its class. */
  readonly leak?: Leak
  /** Programs without which it cannot be tried. */
  readonly needs?: readonly string[]
  /** Why a sandbox does not stop it: one of the six that the design accepts. */
  readonly known?: KnownLeak
  /** What a deny rule would hide, so that a known leak is stopped. */
  readonly hidden?: readonly string[]
  /** It reads what is neither a credential nor protected: `yolo` shows it. */
  readonly isPlainRead?: true
}

/** What an attack achieved. */
export type Leak =
  /** The secret is in the output. */
  | 'shown'
  /** The folder outside, or one for temporary files, changed. */
  | 'outside'
  /** The home folder changed. */
  | 'home'
  /** A protected path of the workspace changed. */
  | 'protected'
  /** A listener of this machine was reached. */
  | 'sent'
  /** A process of the person was ended or stopped. */
  | 'ended'
  /** A process runs on after the command. */
  | 'left'
  /** What the person ran afterwards showed the secret or changed the folder outside. */
  | 'later'
  /** The workspace changed; counts only where it is read-only. */
  | 'workspace'

export type KnownLeak =
  | 'reads a hard link'
  | 'writes a hard link'
  | 'file that is run later'
  | 'new repository in node_modules'
  | 'secret in the workspace'
  | 'token in the git config'

export interface AttackClass {
  readonly name: string
  readonly leak: Leak
  readonly attacks: readonly Attack[]
}
