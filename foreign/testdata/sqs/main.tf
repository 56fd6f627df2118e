variable "retries" { default = 5 }

resource "aws_sqs_queue" "orders" {
  name                       = "orders"
  visibility_timeout_seconds = 30
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.failed.arn
    maxReceiveCount     = 5
  })
}

resource "aws_sqs_queue" "failed" {
  name = "failed"
}

resource "aws_lambda_function" "receive" {
  function_name = "receive"
  timeout       = 60
  environment {
    variables = { QUEUE = aws_sqs_queue.orders.url }
  }
}

resource "aws_lambda_event_source_mapping" "receive" {
  event_source_arn = aws_sqs_queue.orders.arn
  function_name    = aws_lambda_function.receive.arn
}

# Its dead-letter queue is a resource of its own.
resource "aws_sqs_queue" "mail" {
  name                       = "mail"
  visibility_timeout_seconds = var.hidden
}

resource "aws_sqs_queue_redrive_policy" "mail" {
  queue_url      = aws_sqs_queue.mail.id
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.failed.arn, maxReceiveCount = var.retries })
}

resource "aws_batch_job_definition" "report" {
  name = "report"
  type = "container"
  container_properties = jsonencode({ image = "busybox" })
  retry_strategy {
    attempts = 12
    evaluate_on_exit {
      action           = "RETRY"
      on_status_reason = "Host EC2*"
    }
  }
  timeout { attempt_duration_seconds = 30 }
}

resource "aws_sqs_queue" "never" {
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.failed.arn, maxReceiveCount = 0 })
}

resource "aws_sqs_queue" "often" {
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.failed.arn, maxReceiveCount = 50000 })
}
