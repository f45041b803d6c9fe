/** What a container may use. */
export interface DockerLimits {
  /** Megabytes; swap adds nothing to them. */
  readonly memory?: number
  /** Processors, such as `'1.0'`. */
  readonly cpu?: string | number
  /** Processes and threads. Default 512. */
  readonly processes?: number
}

export interface ContainerOptions {
  /** Any Linux image with a shell. */
  readonly image: string
  /** The folder that tools work in; Docker creates it when it is missing. Default `/workspace`. */
  readonly cwd?: string
  readonly limits?: DockerLimits
  readonly env?: Readonly<Record<string, string>>
  /** `none` cuts it off. Default `bridge`. */
  readonly network?: 'none' | 'bridge'
  /** A name or id, with a group after a colon if need be. Default: that of the image. */
  readonly user?: string
  /** Folders of this machine inside the container: `/here:/there` or `/here:/there:ro`. */
  readonly binds?: readonly string[]
}

/** When to fetch an image from its registry. */
export type PullPolicy = 'missing' | 'always' | 'never'

/** An instance of dockerode, or where Docker answers as dockerode takes it: `socketPath`, or `host` and `port`, and so on. */
export type DockerEngine = object & {
  readonly socketPath?: string
  readonly host?: string
  readonly port?: number | string
}
