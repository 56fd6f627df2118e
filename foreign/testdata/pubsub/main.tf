resource "google_pubsub_subscription" "orders" {
  name                       = "orders"
  topic                      = google_pubsub_topic.orders.id
  ack_deadline_seconds       = 20
  message_retention_duration = "600s"

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.failed.id
    max_delivery_attempts = 100
  }
  retry_policy {
    minimum_backoff = "10s"
  }
}

resource "google_pubsub_subscription" "mail" {
  name  = "mail"
  topic = google_pubsub_topic.mail.id
  dynamic "dead_letter_policy" {
    for_each = var.failed == null ? [] : [""]
    content {
      dead_letter_topic = var.failed
    }
  }
  dynamic "retry_policy" {
    for_each = var.backoff == null ? [] : [""]
    content { minimum_backoff = var.backoff }
  }
}

resource "google_cloud_tasks_queue" "mail" {
  name     = "mail"
  location = "europe-west1"
  retry_config {
    max_attempts       = 5
    max_retry_duration = "4s"
    max_backoff        = "3s"
    min_backoff        = "2s"
    max_doublings      = 1
  }
}
