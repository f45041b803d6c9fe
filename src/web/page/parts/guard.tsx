import { Component, type ComponentChildren } from 'preact'

interface GuardProps {
  /** What could not be shown, such as `entry`. */
  readonly what: string
  /** What is drawn. When it is another value, it is tried again. */
  readonly of?: unknown
  /** Stands below the message: a link to what the log has, or a plainer form. */
  readonly instead?: (() => ComponentChildren) | undefined
  readonly children: ComponentChildren
}

interface GuardState {
  readonly failure?: { readonly error: unknown; readonly of: unknown }
}

/** A part of the page that may fail to be drawn: then a message stands in its place, and the rest goes on. */
export class Guard extends Component<GuardProps, GuardState> {
  override componentDidCatch(error: unknown): void {
    console.error(`libero: this ${this.props.what} could not be shown`, error)
    this.setState({ failure: { error, of: this.props.of } })
  }

  override render({ what, of, instead, children }: GuardProps, { failure }: GuardState) {
    if (!failure || failure.of !== of) return children
    const { error } = failure
    return (
      <div class="failure">
        <p role="alert">{`This ${what} could not be shown: ${error instanceof Error ? error.message : String(error)}`}</p>
        {instead?.()}
      </div>
    )
  }
}
